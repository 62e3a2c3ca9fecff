/* The guard in front of a compiled network: a function that Python calls, written in C.

   It asks what a function in Python would ask, by calling the C functions of Python itself. Their
   addresses are in `python`, so this file needs no header of Python, and no linking.

   Each struct up to `struct guard` has its counterpart in guard.py, with the same fields. */
#include <stddef.h>

typedef struct Object Object; /* any object of Python's; only Python looks inside */

/* What all guards need. */
struct python {
    /* Functions of Python; docs.python.org/3/c-api says what each does. */
    Object *(*PyObject_Type)(Object *);
    Object *(*PyObject_GetAttr)(Object *, Object *name);
    Object *(*PyObject_GetItem)(Object *, Object *key);
    Object *(*PyObject_Vectorcall)(Object *, Object *const *arguments, size_t count, Object *names);
    Object *(*PyObject_CallObject)(Object *, Object *arguments);
    int (*PyDict_Next)(Object *, ptrdiff_t *position, Object **key, Object **value);
    ptrdiff_t (*PyTuple_Size)(Object *);
    Object *(*PyTuple_GetItem)(Object *, ptrdiff_t);
    void *(*PyLong_AsVoidPtr)(Object *);
    ptrdiff_t (*PyLong_AsSsize_t)(Object *);
    void (*Py_IncRef)(Object *);
    void (*Py_DecRef)(Object *);
    void (*PyErr_Clear)(void);
    Object *(*PyErr_Occurred)(void);
    int (*PyErr_ExceptionMatches)(Object *class);
    void *(*PyEval_SaveThread)(void);
    void (*PyEval_RestoreThread)(void *);
    /* Objects: True, False, two classes, a dtype; attribute names; functions. */
    Object *True, *False, *Exception, *Tensor, *float32;
    Object *shape, *dtype, *is_cpu, *requires_grad;
    Object *data_ptr, *is_contiguous, *is_grad_enabled, *empty_strided_cpu;
} python;

/* One thing that must be as recorded, in a dict in which a layer keeps its parts. There are three
   kinds. Without a key: the dict's values are those in the tuple `object`. With a key and an
   object: dict[key] is this very object. With a key alone: dict[key] is a tensor whose numbers lie
   at `address`, and if `in_order` is 1, one after the other. */
struct condition {
    Object *dict, *key, *object;
    const void *address;
    ptrdiff_t in_order;
};

/* The guard of one program. `by_shape` leads from the first input's shape to the second's, and so
   on, and from the last to n and, for each result, the arguments that make a tensor for it.
   `as_returned` makes of the results what the network returns; it is NULL where that is the only
   result. `recompile` is called where anything is not as expected. */
struct guard {
    int (*call_forward)(ptrdiff_t n, void *const *tensors, const float *const *parameters);
    const float *const *parameters;
    ptrdiff_t input_count, result_count, condition_count;
    const struct condition *conditions;
    Object *by_shape, *as_returned, *recompile;
};

/* Python counts the references to an object. A function that returns an object adds one for its
   caller, which must take it off with Py_DecRef, or the object is kept forever. `is` and
   `address_of` do that for the answers that they look at. NULL stands for an error. */

static int is(Object *answer, Object *expected)
{
    python.Py_DecRef(answer);
    return answer == expected;
}

static Object *ask(Object *function, Object *x)
{
    return python.PyObject_Vectorcall(function, &x, 1, NULL);
}

/* Where a tensor's numbers lie; after an error 1, where none can lie. */
static void *address_of(Object *tensor)
{
    Object *number = ask(python.data_ptr, tensor);
    void *address = number ? python.PyLong_AsVoidPtr(number) : (void *)1;
    python.Py_DecRef(number);
    return address;
}

static int is_at(Object *tensor, const void *address, int in_order)
{
    return address_of(tensor) == address &&
           (!in_order || is(ask(python.is_contiguous, tensor), python.True));
}

static int are_values(Object *tuple, Object *dict)
{
    Object *key, *value;
    ptrdiff_t position = 0, i = 0;
    while (python.PyDict_Next(dict, &position, &key, &value))
        if (value != python.PyTuple_GetItem(tuple, i++)) /* NULL where the tuple has ended */
            return 0;
    return i == python.PyTuple_Size(tuple);
}

static int holds(const struct condition *c)
{
    if (c->key == NULL)
        return are_values(c->object, c->dict);
    Object *found = python.PyObject_GetItem(c->dict, c->key);
    int yes = found != NULL;
    if (yes)
        yes = c->object ? found == c->object : is_at(found, c->address, c->in_order);
    python.Py_DecRef(found);
    return yes;
}

static int network_holds(const struct guard *g)
{
    for (ptrdiff_t i = 0; i < g->condition_count; i++)
        if (!holds(&g->conditions[i]))
            return 0;
    return 1;
}

/* Whether torch keeps notes for gradients now, which the program could not pass on. */
static int are_notes_kept(void)
{
    return !is(python.PyObject_Vectorcall(python.is_grad_enabled, NULL, 0, NULL), python.False);
}

/* Whether a parameter asks for gradients. `recompile` says so. */
static int asks_for_gradients(const struct guard *g)
{
    for (ptrdiff_t i = 0; i < g->condition_count; i++) {
        const struct condition *c = &g->conditions[i];
        if (c->key == NULL || c->object != NULL)
            continue; /* this one is not about a tensor */
        Object *tensor = python.PyObject_GetItem(c->dict, c->key);
        int asks = !tensor || !is(python.PyObject_GetAttr(tensor, python.requires_grad), python.False);
        python.Py_DecRef(tensor);
        if (asks)
            return 1;
    }
    return 0;
}

/* Whether the program may read an input. Then its numbers lie at *address.
   This asks more than is_readable in compiler.py: also for the type of x and its numbers, and for
   gradients. (A tensor without numbers has no address, and is left to `recompile`.) */
static int is_readable(Object *x, int notes, void **address)
{
    return is(python.PyObject_Type(x), python.Tensor) &&
           is(python.PyObject_GetAttr(x, python.dtype), python.float32) &&
           is(python.PyObject_GetAttr(x, python.is_cpu), python.True) &&
           (!notes ||
            is(python.PyObject_GetAttr(x, python.requires_grad), python.False)) &&
           is(ask(python.is_contiguous, x), python.True) &&
           (*address = address_of(x)) != NULL && (size_t)*address % sizeof(float) == 0;
}

/* n, and what makes each result; into `addresses`, where the inputs lie. NULL if an input is
   not as expected. */
static Object *look_up(const struct guard *g, Object *const *x, int notes, void **addresses)
{
    Object *found = g->by_shape;
    python.Py_IncRef(found);
    for (ptrdiff_t i = 0; found && i < g->input_count; i++) {
        Object *dict = found, *shape = NULL;
        if (is_readable(x[i], notes, &addresses[i]))
            shape = python.PyObject_GetAttr(x[i], python.shape);
        found = shape ? python.PyObject_GetItem(dict, shape) : NULL;
        python.Py_DecRef(shape);
        python.Py_DecRef(dict);
    }
    return found;
}

/* What the network returns. NULL, and *done stays 0, where the program was not run to its end. */
static Object *run(const struct guard *g, Object *const *x, int notes, int *done)
{
    void *addresses[g->input_count + g->result_count];
    Object *results[g->result_count], *returned = NULL;
    Object *found = look_up(g, x, notes, addresses);
    if (found == NULL)
        return NULL;
    const ptrdiff_t n = python.PyLong_AsSsize_t(python.PyTuple_GetItem(found, 0));
    ptrdiff_t made = 0;
    int ready = 1;
    for (; ready && made < g->result_count; made++) {
        Object *arguments = python.PyTuple_GetItem(found, made + 1);
        results[made] = python.PyObject_CallObject(python.empty_strided_cpu, arguments);
        void *address = results[made] ? address_of(results[made]) : NULL;
        ready = address != NULL && (size_t)address % sizeof(float) == 0;
        addresses[g->input_count + made] = address;
    }
    python.Py_DecRef(found);
    if (ready) {
        void *state = python.PyEval_SaveThread(); /* other threads may run meanwhile */
        *done = !g->call_forward(n, addresses, g->parameters);
        python.PyEval_RestoreThread(state);
    }
    if (*done && g->as_returned)
        returned = python.PyObject_Vectorcall(g->as_returned, results, made, NULL);
    else if (*done)
        python.Py_IncRef(returned = results[0]);
    while (made > 0)
        python.Py_DecRef(results[--made]);
    return returned;
}

/* Whether there is an error that does not come from a question, such as Ctrl-C. Others are dropped:
   they mean that something is not as expected. */
static int is_interrupted(void)
{
    if (python.PyErr_Occurred() && !python.PyErr_ExceptionMatches(python.Exception))
        return 1;
    python.PyErr_Clear();
    return 0;
}

/* `self` is a tuple that keeps alive what the guard needs. Its first item is its address. */
static const struct guard *guard_of(Object *self)
{
    return python.PyLong_AsVoidPtr(python.PyTuple_GetItem(self, 0));
}

static Object *call(Object *self, Object *const *inputs, ptrdiff_t count, Object *names)
{
    const struct guard *g = guard_of(self);
    Object *returned = NULL;
    int done = 0;
    if (count == g->input_count && names == NULL && network_holds(g)) {
        const int notes = are_notes_kept();
        if (!notes || !asks_for_gradients(g))
            returned = run(g, inputs, notes, &done);
    }
    if (done || is_interrupted())
        return returned;
    return python.PyObject_Vectorcall(g->recompile, inputs, count, names);
}

static Object *answer_holds(Object *self, Object *nothing)
{
    Object *answer = network_holds(guard_of(self)) ? python.True : python.False;
    (void)nothing;
    if (is_interrupted())
        return NULL;
    python.Py_IncRef(answer);
    return answer;
}

/* PyMethodDef, which describes a function in C to Python. */
struct method {
    const char *name;
    Object *(*function)(); /* its arguments depend on the flags */
    int flags;
    const char *doc;
};
const struct method call_method = {"call", call, 0x82 /* METH_FASTCALL | METH_KEYWORDS */, NULL};
const struct method holds_method = {"holds", answer_holds, 0x04 /* METH_NOARGS */, NULL};
