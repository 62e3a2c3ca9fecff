"""The course's network in ONNX Runtime, see notebook 08. The model is written node by node."""

from functools import partial

from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnxruntime import InferenceSession, SessionOptions


def model(weights):
    """Return the network as an ONNX model with a float32 input `x` of shape (n, inputs)."""
    nodes, arrays, last = [], [], "x"
    for i, pair in enumerate(weights):
        if i:
            nodes.append(make_node("Relu", [last], [f"relu{i}"]))
            last = f"relu{i}"
        names = [f"matrix{i}", f"bias{i}"]
        arrays += [numpy_helper.from_array(*each) for each in zip(pair, names, strict=True)]
        nodes.append(make_node("Gemm", [last, *names], [f"gemm{i}"]))
        last = f"gemm{i}"
    inputs = [make_tensor_value_info("x", TensorProto.FLOAT, ["n", len(weights[0][0])])]
    outputs = [make_tensor_value_info(last, TensorProto.FLOAT, ["n", len(weights[-1][1])])]
    graph = make_graph(nodes, "net", inputs, outputs, arrays)
    # Older versions of ONNX Runtime read it, too.
    return make_model(graph, opset_imports=[make_opsetid("", 18)], ir_version=9)


def network(weights, threads=1):
    """Return a function that runs the network on an array (rows, inputs), with so many threads."""
    options = SessionOptions()
    options.intra_op_num_threads = threads  # it does not look at the environment
    # Threads that wait for work by asking all the time would slow down the others' blocks.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    net = InferenceSession(model(weights).SerializeToString(), options)
    return lambda x: net.run(None, {"x": x})[0]


def session(weights, x):
    """Return a function that runs the network on `x`."""
    return partial(network(weights), x)
