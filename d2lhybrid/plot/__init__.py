"""Every picture of the course, sorted by what it shows.

    speedups  how one time compares with another: speed-ups with their intervals, other ratios
    times     how long something takes, what the time is made of, when a price is paid back
    curves    what changes with the size of the data, or with the steps of training
    flow      who feeds whom in a program; what a program becomes, step by step
    lanes     what was done at the same time: bars on lanes over time
    roofline  what a machine can do at most, and how close programs come
    trees     what Python reads in a program's text
    outcomes  cells and dots, a row for each thing that was tried
    style     what they share: figures, alternative texts, legends, frames
    axes      their scales: limits, marks, and how these read
    colours   their colours and shapes

Each function makes a figure and returns its matplotlib Axes, or a list of them where there are
several. A new one ends with `with_alt`, which gives the picture its text for readers who cannot
see it, and has its name in `_NAMES`.
"""
