//! Programs by name.

use super::Program;
use super::collective::{Collective, collective};
use super::halo::{Halo, halo};
use super::nas::{Class, Setting, bt, cg, ft, is, mg};
use crate::InputError;

/// Steps of a halo exchange, and collective operations, where nothing else is said.
const STEPS: u32 = 10;

/// A program that is generated.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the benchmarks' own names")]
pub enum Generator {
    Bt(Class),
    Cg(Class),
    Ft(Class),
    /// With the largest deviation of a pair's bytes from the mean, as a share.
    Is(Class, f64),
    Mg(Class),
    Wrf(Halo),
    Collective(Collective),
}

impl Generator {
    /// Names of those that need nothing but a class.
    pub const NAMES: [&'static str; 6] = ["bt", "cg", "ft", "is", "mg", "wrf"];

    /// A generator by its name, and a class by its letter, which `wrf` has no use for.
    ///
    /// # Errors
    /// Another name or letter; a class for a program without classes, or none for one with.
    pub fn named(name: &str, class: Option<&str>) -> Result<Self, InputError> {
        if !Self::NAMES.contains(&name) {
            let error = InputError::new("no such program").field("program").value(crate::spelling::clip(name));
            return Err(
                error.allowed(format!("{}; others of a scenario (.toml) that has them", Self::NAMES.join(", ")))
            );
        }
        if name == "wrf" {
            return match class {
                None => Ok(Self::Wrf(Halo::default())),
                Some(class) => {
                    let error = InputError::new("wrf has no classes").field("class");
                    Err(error.value(crate::spelling::clip(class)).allowed("no class"))
                }
            };
        }
        let Some(letter) = class else {
            let error = InputError::new(format!("missing, and {name} has none of its own")).field("class");
            return Err(error.allowed(Class::up_to(Class::F)));
        };
        let class = Class::ALL.into_iter().find(|c| format!("{c:?}") == letter).ok_or_else(|| {
            let error = InputError::new("no such class").field("class").value(crate::spelling::clip(letter));
            error.allowed(Class::up_to(Class::F))
        })?;
        Ok(match name {
            "bt" => Self::Bt(class),
            "cg" => Self::Cg(class),
            "ft" => Self::Ft(class),
            "is" => {
                is::class(class).map_err(|e| e.field("class"))?;
                Self::Is(class, is::NOISE)
            }
            _ => Self::Mg(class),
        })
    }

    /// The program.
    ///
    /// # Errors
    /// What the generators refuse; see there.
    pub fn build(&self, s: &Setting) -> Result<Program, InputError> {
        match *self {
            Self::Bt(class) => bt::bt(bt::class(class).0, bt::class(class).1, s),
            Self::Cg(class) => cg::cg(cg::class(class).0, cg::class(class).1, s),
            Self::Ft(class) => ft::ft(ft::class(class).0, ft::class(class).1, s),
            Self::Is(class, noise) => {
                let (size, iterations) = is::class(class)?;
                is::is(is::Size { noise, ..size }, iterations, s)
            }
            Self::Mg(class) => mg::mg(mg::class(class).0, mg::class(class).1, s),
            Self::Wrf(model) => halo(&model, STEPS, s),
            Self::Collective(model) => collective(&model, STEPS, s),
        }
    }
}
