"""The page without a server: models as ONNX graphs, and the script that runs them in a browser."""
