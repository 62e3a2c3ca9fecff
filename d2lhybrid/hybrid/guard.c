/* The guard in front of a compiled network: a function that Python calls, written in C.

   It asks what a function in Python would ask, through the C functions that Python itself is made
   of. Their addresses come from Python, in `python`: so no header of Python is needed, and nothing
   has to be linked. */
#include <stddef.h>

typedef struct Object Object; /* anything of Python's; only Python looks inside */

/* What all guards need. guard.py fills this in, in the same order. */
struct {
    /* Functions of Python; docs.python.org/3/c-api says what each does. */
    Object *(*PyObject_Type)(Object *);
    Object *(*PyObject_GetAttr)(Object *, Object *name);
    Object *(*PyObject_GetItem)(Object *, Object *key);
    Object *(*PyObject_Vectorcall)(Object *, Object *const *arguments, size_t count, Object *names);
    int (*PyDict_Next)(Object *, ptrdiff_t *position, Object **key, Object **value);
    Object *(*PyTuple_New)(ptrdiff_t size);
    ptrdiff_t (*PyTuple_Size)(Object *);
    Object *(*PyTuple_GetItem)(Object *, ptrdiff_t);
    int (*PyTuple_SetItem)(Object *, ptrdiff_t, Object *);
    void *(*PyLong_AsVoidPtr)(Object *);
    ptrdiff_t (*PyLong_AsSsize_t)(Object *);
    void (*Py_IncRef)(Object *);
    void (*Py_DecRef)(Object *);
    void (*PyErr_Clear)(void);
    void *(*PyEval_SaveThread)(void);
    void (*PyEval_RestoreThread)(void *);
    /* Objects: two answers, a class, a type of numbers; names of attributes; functions of torch. */
    Object *True, *False, *Tensor, *float32;
    Object *shape, *dtype, *is_cpu, *requires_grad;
    Object *data_ptr, *is_contiguous, *empty_like;
} python;

/* One thing that must be as it was, in a dict in which a layer keeps its parts. */
struct condition {
    Object *dict, *key;  /* no key: the dict's values are those in the tuple `object` */
    Object *object;      /* dict[key] is this very object; no object: */
    const void *address; /* dict[key] is a tensor whose numbers lie here, */
    ptrdiff_t in_order;  /* and, if this is 1, one behind the other */
};

/* The guard of one program. */
struct guard {
    int (*call_forward)(ptrdiff_t n, void *const *tensors, const float *const *parameters);
    const float *const *parameters;
    ptrdiff_t input_count, result_count, condition_count;
    const struct condition *conditions;
    Object *like; /* a dict: shapes of inputs -> n, and a tensor like each result */
    Object *pack; /* makes of several results what the network returns; NULL: there is only one */
    Object *anew; /* takes over where anything is not as expected */
};

/* The rules of counting: whoever is handed an object must give it back, or it is kept for ever.
   `is` and `address_of` give back the answers that they look at. NULL stands for an error. */

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

/* Whether the program may read an input. Then its numbers lie at *address. (Without any, there is
   no address: `anew` sees to that.) */
static int is_readable(Object *x, void **address)
{
    return is(python.PyObject_Type(x), python.Tensor) &&
           is(python.PyObject_GetAttr(x, python.dtype), python.float32) &&
           is(python.PyObject_GetAttr(x, python.is_cpu), python.True) &&
           is(python.PyObject_GetAttr(x, python.requires_grad), python.False) &&
           is(ask(python.is_contiguous, x), python.True) &&
           (*address = address_of(x)) != NULL && (size_t)*address % sizeof(float) == 0;
}

/* n, and a tensor like each result; and where the inputs lie. NULL if any is not as expected. */
static Object *look_up(const struct guard *g, Object *const *x, void **addresses)
{
    Object *shapes = python.PyTuple_New(g->input_count), *found = NULL;
    ptrdiff_t i = 0;
    for (; i < g->input_count && is_readable(x[i], &addresses[i]); i++) {
        Object *shape = python.PyObject_GetAttr(x[i], python.shape);
        if (shape == NULL)
            break;
        python.PyTuple_SetItem(shapes, i, shape);
    }
    if (i == g->input_count)
        found = python.PyObject_GetItem(g->like, shapes);
    python.Py_DecRef(shapes);
    return found;
}

/* The network's results, or NULL. */
static Object *run(const struct guard *g, Object *const *x)
{
    void *tensors[g->input_count + g->result_count];
    Object *found = look_up(g, x, tensors);
    if (found == NULL)
        return NULL;
    const ptrdiff_t n = python.PyLong_AsSsize_t(python.PyTuple_GetItem(found, 0));
    Object *results = python.PyTuple_New(g->result_count), *returned = NULL;
    ptrdiff_t i = 0;
    for (; i < g->result_count; i++) {
        Object *result = ask(python.empty_like, python.PyTuple_GetItem(found, i + 1));
        if (result == NULL)
            break;
        tensors[g->input_count + i] = address_of(result);
        python.PyTuple_SetItem(results, i, result);
    }
    python.Py_DecRef(found);
    if (i == g->result_count) {
        void *state = python.PyEval_SaveThread(); /* meanwhile, others may run */
        const int failed = g->call_forward(n, tensors, g->parameters);
        python.PyEval_RestoreThread(state);
        if (!failed && g->pack)
            returned = ask(g->pack, results);
        else if (!failed)
            python.Py_IncRef(returned = python.PyTuple_GetItem(results, 0));
    }
    python.Py_DecRef(results);
    return returned;
}

/* Of both functions below, `self` is a tuple that keeps alive what the guard needs. The guard's
   own address is first in it. */
static const struct guard *guard_of(Object *self)
{
    return python.PyLong_AsVoidPtr(python.PyTuple_GetItem(self, 0));
}

static Object *call(Object *self, Object *const *inputs, ptrdiff_t count, Object *names)
{
    const struct guard *g = guard_of(self);
    Object *returned = NULL;
    if (count == g->input_count && names == NULL && network_holds(g))
        returned = run(g, inputs);
    if (returned)
        return returned;
    python.PyErr_Clear();
    return python.PyObject_Vectorcall(g->anew, inputs, count, names);
}

static Object *tell_whether_it_holds(Object *self, Object *nothing)
{
    Object *answer = network_holds(guard_of(self)) ? python.True : python.False;
    (void)nothing;
    python.PyErr_Clear();
    python.Py_IncRef(answer);
    return answer;
}

/* How Python learns of a function in C: PyMethodDef. */
struct method {
    const char *name;
    Object *(*function)(); /* its arguments depend on the flags */
    int flags;
    const char *doc;
};
const struct method call_method = {"call", call, 0x82 /* METH_FASTCALL | METH_KEYWORDS */, NULL};
const struct method holds_method = {"holds", tell_whether_it_holds, 0x04 /* METH_NOARGS */, NULL};
