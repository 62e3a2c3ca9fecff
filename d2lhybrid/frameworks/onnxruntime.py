"""ONNX Runtime, which runs networks that other frameworks have exported. See notebook 07."""

from importlib.util import find_spec


def ways(net):
    # PyTorch exports with the help of onnxscript.
    return {"ONNX Runtime": lambda: session(net)} if find_spec("onnxscript") else {}


def session(net):
    """A network, exported with the batch size left open, as a function of a tensor (n, 512)."""
    import onnxruntime
    import torch

    program = torch.onnx.export(
        net,
        (torch.randn(2, 512),),
        dynamo=True,
        dynamic_shapes=({0: torch.export.Dim("batch")},),
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    # Threads that wait for work by asking all the time would slow down the others' blocks.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    running = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), options)
    name = running.get_inputs()[0].name
    return lambda x: running.run(None, {name: x.numpy()})[0]
