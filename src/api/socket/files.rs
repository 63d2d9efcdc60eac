//! Files that a message names: they become attachments.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::api::chat::attachments::{Attached, Encoding};
use crate::api::error::ApiError;
use crate::api::projects::files::file;
use crate::api::security::caller::Caller;
use crate::domain::attachment::{MOST_FILES, NotAttached};
use crate::domain::picture::head;
use crate::domain::{Place, ProjectId};
use crate::engine::blocking;
use crate::retrieval::extract::DocumentKind;
use crate::store::{Home, StoreError};

/// Reads the files at these paths: of the project that the session is bound to, otherwise of the home.
///
/// # Errors
/// Returns an error for a path that leads elsewhere, and for a file that does not exist or is too large.
pub async fn named(
    caller: &Caller,
    project: Option<&ProjectId>,
    paths: Vec<String>,
) -> Result<Vec<Attached>, ApiError> {
    if paths.len() > MOST_FILES {
        return Err(NotAttached::TooMany(paths.len()).into());
    }
    let place = |path: &String| match project {
        Some(project) => file(caller, project.as_str(), path),
        None => Ok(Place::parse(path)?),
    };
    let places = paths.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let home = caller.tenant().home.clone();
    Ok(blocking(move || places.iter().map(|place| read(&home, place)).collect()).await?)
}

fn read(home: &Home, place: &Place) -> Result<Attached, StoreError> {
    let bytes = home.read_bytes(place)?;
    let name = place.file_name().to_owned();
    if head(&bytes).is_some() {
        return Ok(Attached::new(name, STANDARD.encode(bytes), Encoding::Base64));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Attached::new(name, text, Encoding::Text)),
        Err(error) if DocumentKind::of_name(&name).is_some() => {
            Ok(Attached::new(name, STANDARD.encode(error.into_bytes()), Encoding::Document))
        }
        Err(error) => Err(StoreError::NotText { path: place.to_string(), at: error.utf8_error().valid_up_to() }),
    }
}
