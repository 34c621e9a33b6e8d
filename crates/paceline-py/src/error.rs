//! Bad input as a Python exception: `paceline_sim::InputError` with the same parts as attributes.

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    paceline._native,
    InputError,
    PyValueError,
    "Bad input: names the file, line and field, the value given and what is allowed."
);

/// Names of the parts that may be missing.
const OPTIONAL: [&str; 5] = ["file", "line", "field", "value", "allowed"];

/// Adds the exception class. Its parts default to `None` on the class, so that they can be read from any instance.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = module.py().get_type::<InputError>();
    for name in OPTIONAL {
        class.setattr(name, module.py().None())?;
    }
    class.setattr("problem", "")?;
    class.setattr("json", "{}")?;
    module.add("InputError", class)
}

/// The Python exception for `error`.
pub fn to_py(py: Python<'_>, error: &paceline_sim::InputError) -> PyErr {
    let raised = PyErr::new::<InputError, _>(error.to_string());
    match set_parts(&raised.value(py).clone(), error) {
        Ok(()) => raised,
        Err(failed) => failed,
    }
}

/// The Python exception for an output file that could not be written: with its number, by which Python knows that it may name the file.
pub fn unwritten(error: std::io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string().split(" (os error").next().map(str::to_string);
            PyOSError::new_err((number, text))
        }
        None => error.into(),
    }
}

fn set_parts(raised: &Bound<'_, pyo3::exceptions::PyBaseException>, error: &paceline_sim::InputError) -> PyResult<()> {
    raised.setattr("file", error.file.as_deref())?;
    raised.setattr("line", error.line)?;
    raised.setattr("field", error.field.as_deref())?;
    raised.setattr("value", error.value.as_deref())?;
    raised.setattr("problem", &error.problem)?;
    raised.setattr("allowed", error.allowed.as_deref())?;
    // Strings and one number: this cannot fail, and an error about an error would help nobody.
    raised.setattr("json", serde_json::to_string(error).unwrap_or_default())
}

/// Makes an `InputError` for input that Python reads itself, worded as the engine words its own.
#[pyfunction]
#[pyo3(signature = (problem, *, file=None, line=None, field=None, value=None, allowed=None))]
pub fn input_error(
    py: Python<'_>,
    problem: String,
    file: Option<String>,
    line: Option<usize>,
    field: Option<String>,
    value: Option<String>,
    allowed: Option<String>,
) -> Py<PyAny> {
    let error = paceline_sim::InputError { file, line, field, value, problem, allowed };
    to_py(py, &error).into_value(py).into_any()
}
