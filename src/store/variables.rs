//! The home's `.env`: replaces single variables and keeps every other line, comments included.

use std::borrow::Cow;

use secrecy::{ExposeSecret, SecretString};

use super::atomic;
use super::error::StoreError;
use super::home::Home;

const FILE: &str = ".env";

/// A variable to set; without a value, it is removed.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: Cow<'static, str>,
    pub value: Option<SecretString>,
}

impl Variable {
    fn value(&self) -> Option<&str> {
        self.value.as_ref().map(SecretString::expose_secret)
    }
}

impl Home {
    /// Sets variables. Afterwards only the owner can read the file.
    ///
    /// # Errors
    /// Returns [`StoreError::NotAllowed`] for a value with a single quote or a control character, before anything is
    /// written, and another error if `.env` cannot be read or written.
    pub(super) fn set_variables(&self, variables: &[Variable]) -> Result<(), StoreError> {
        for variable in variables {
            if variable.value().is_some_and(|value| value.chars().any(|c| c == '\'' || c.is_control())) {
                let why = "a value may hold no quotes and no line breaks";
                return Err(StoreError::NotAllowed { path: FILE.to_owned(), why });
            }
        }
        let _one_writer = self.edit_lock();
        let old = match self.root().read_to_string(FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(StoreError::io("reading .env")(error)),
        };
        let text = changed(&old, variables);
        atomic::replace(self.root(), FILE, text.as_bytes(), 0o600).map_err(StoreError::io("saving .env"))?;
        // `replace` keeps the mode of an existing file, which may be readable by others.
        let owner_only = cap_std::fs::PermissionsExt::from_mode(0o600);
        self.root().set_permissions(FILE, owner_only).map_err(StoreError::io("closing .env to others"))
    }
}

fn changed(old: &str, variables: &[Variable]) -> String {
    let name_of = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.split_once('=').map(|(name, _)| name.trim().to_owned())
    };
    let is_set = |line: &&str| name_of(line).is_some_and(|name| variables.iter().any(|variable| variable.name == name));
    let mut lines: Vec<String> = old.lines().filter(|line| !is_set(line)).map(str::to_owned).collect();
    for variable in variables {
        if let Some(value) = variable.value() {
            lines.push(format!("{}='{value}'", variable.name));
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn variable(name: &'static str, value: Option<&str>) -> Variable {
        Variable { name: name.into(), value: value.map(SecretString::from) }
    }

    #[test]
    fn other_lines_stay_and_file_is_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let file = folder.path().join(".env");
        std::fs::write(&file, "# mine\nA=1\nexport OPENAI_API_KEY=old\nOPENAI_API_KEY_2=x\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        home.set_variables(&[variable("OPENAI_API_KEY", Some("sk $x #1")), variable("OPENAI_MODEL", None)]).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, "# mine\nA=1\nOPENAI_API_KEY_2=x\nOPENAI_API_KEY='sk $x #1'\n");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        for bad in ["a'b", "a\nB=1"] {
            assert!(home.set_variables(&[variable("A", Some(bad))]).is_err());
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn new_file_is_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        home.set_variables(&[variable("A", Some("1"))]).unwrap();
        let mode = std::fs::metadata(folder.path().join(".env")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
