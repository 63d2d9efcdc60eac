//! The fields of the NanoClaw document's config.yml, and the variables of the Agent Web UI document, that this server has under
//! another name, or does not need. What was written for those servers works here as it is, or is refused with the reason.

use std::time::Duration;

use super::{ConfigError, Environment, File, bad};

/// The folder of the home in which projects are.
const WORKSPACES: &str = "workspaces";

/// Seconds without a request after which a session leaves memory.
const SESSION_TTL: &str = "SESSION_TTL";
const DEFAULT_SESSION_TTL: u64 = 21_600;
const REDIS_URL: &str = "REDIS_URL";

/// Returns the time after which an idle session leaves memory.
///
/// # Errors
/// Returns an error if it is set to anything but a number of seconds, which is at least 1.
pub(super) fn session_ttl(environment: &Environment) -> Result<Duration, ConfigError> {
    let Some(text) = environment.value(SESSION_TTL) else { return Ok(Duration::from_secs(DEFAULT_SESSION_TTL)) };
    let seconds = text.parse().ok().filter(|seconds| (1..=u64::from(u32::MAX)).contains(seconds));
    let reason = "it is the number of seconds after which an idle session leaves memory, for example 21600";
    seconds.map(Duration::from_secs).ok_or_else(|| bad(SESSION_TTL, reason))
}

/// Refuses what this server cannot do.
///
/// # Errors
/// Returns an error for a database of another kind, and for another folder of projects.
pub(super) fn check(file: &File) -> Result<(), ConfigError> {
    let refused = |reason: String| Err(bad("config.yml", reason));
    match file.db_type.as_deref().map(str::trim).unwrap_or("sqlite") {
        // The database is that of `database`.
        "sqlite" | "postgresql" | "postgres" => {}
        "mysql" => {
            return refused(
                "db_type: mysql is not supported: everything is kept in files of the home. Remove it, or set sqlite, which \
                 means the same here"
                    .to_owned(),
            );
        }
        other => {
            return refused(format!("db_type: there is no database {other}; remove it, or set sqlite or postgresql"));
        }
    }
    match file.workspace_root.as_deref().map(|path| path.trim().trim_start_matches("./").trim_end_matches('/')) {
        None | Some(WORKSPACES) => Ok(()),
        Some(_) => refused(format!(
            "workspace_root: projects are in {WORKSPACES}/ of the home, and no other folder is supported. Remove it, or set \
             ./{WORKSPACES}"
        )),
    }
}

/// Returns what a person may want to know about the fields that have no effect.
pub(super) fn notes(file: &File, environment: &Environment) -> Vec<String> {
    let mut notes = Vec::new();
    if file.frontend_port.is_some() {
        notes.push("frontend_port has no effect: the page is served at the same port as the API".to_owned());
    }
    if let (Some(port), Some(other)) = (file.port, file.backend_port)
        && port != other
    {
        notes.push(format!("backend_port means the same as port and differs from it; the port is {port}"));
    }
    if file.db_type.as_deref().is_some_and(|name| name.trim() == "sqlite") {
        notes.push("db_type: sqlite means files here: everything is kept in files of the home".to_owned());
    }
    // Its value may contain a password.
    if environment.value(REDIS_URL).is_some() {
        notes.push("REDIS_URL has no effect: sessions are kept in files of the home".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::super::tests::load;

    /// The file of the document, but for `auth_mode` and `jwt_secret`.
    const DOCUMENT: &str = "\
backend_port: 3000
frontend_port: 4000
max_iterations: 15
models:
  - id: deepseek-chat
    name: DeepSeek V3
    api_url: https://api.deepseek.com/chat/completions
    api_key: sk-xxx
  - id: glm-5
    name: GLM-5
    api_url: https://open.bigmodel.cn/api/paas/v4/chat/completions
    api_key: xxx
default_model: deepseek-chat
workspace_root: ./workspaces
auth_mode: single
jwt_secret: nano-claw-default-secret-change-in-production
db_type: sqlite
db_host: localhost
db_port: 3306
db_user: root
db_password: \"canary\"
db_name: nano_claw
db_sqlite_file: nano_claw.db
";

    #[test]
    fn file_of_the_document_is_accepted_whole() {
        let config = load(&[("config.yml", DOCUMENT)], &[]).unwrap();
        assert_eq!((config.port, config.limits.max_iterations, config.wanted), (Some(3000), 15, None));
        let models: Vec<_> = config.endpoints.iter().map(|one| (&*one.endpoint.model, &*one.endpoint.label)).collect();
        assert_eq!(models, [("deepseek-chat", "DeepSeek V3"), ("glm-5", "GLM-5")]);
        assert_eq!(config.warnings.len(), 2, "{:?}", config.warnings);
        assert!(config.warnings[0].contains("frontend_port") && config.warnings[1].contains("sqlite"));
        let both = load(&[("config.yml", "port: 1\nbackend_port: 2\n")], &[]).unwrap();
        assert_eq!((both.port, both.warnings.len()), (Some(1), 1));
    }

    #[test]
    fn databases_and_other_folders_are_refused_with_the_reason() {
        let with = |line: &str| load(&[("config.yml", &*format!("db_password: canary\n{line}\n"))], &[]);
        for (line, words) in [
            ("db_type: mysql", "mysql is not supported"),
            ("db_type: oracle", "no database oracle"),
            ("workspace_root: /srv/projects", "workspaces/ of the home"),
            ("workspace_root: ../workspaces", "workspaces/ of the home"),
        ] {
            let error = with(line).err().unwrap().to_string();
            assert!(error.contains(words) && !error.contains("canary"), "{error}");
        }
        for line in ["db_type: sqlite", "workspace_root: workspaces/"] {
            assert!(with(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn variables_of_the_web_ui_document_are_known() {
        let with = |name: &str, value: &str| load(&[], &[(name, value)]);
        assert_eq!(load(&[], &[]).unwrap().session_ttl.as_secs(), 21_600);
        assert_eq!(with("SESSION_TTL", "90").unwrap().session_ttl.as_secs(), 90);
        for wrong in ["0", "-1", "6h", "99999999999999999999"] {
            let error = with("SESSION_TTL", wrong).err().unwrap().to_string();
            assert!(error.contains("SESSION_TTL") && error.contains("seconds"), "{error}");
        }
        let warnings = with("REDIS_URL", "redis://:canary@localhost:6379").unwrap().warnings;
        assert!(
            matches!(&warnings[..], [note] if note.contains("REDIS_URL") && !note.contains("canary")),
            "{warnings:?}"
        );
    }

    #[test]
    fn api_is_named_or_told_by_the_address() {
        use crate::provider::Api;
        let file = "models:\n  - {id: a, api_url: 'http://h', api: anthropic}\n  - {id: b, api_url: 'http://h', api: responses}\n  \
                    - {id: c, api_url: 'http://h/v1/messages'}\n  - {id: d, api_url: 'http://h', api: openai}\n\
                    providers:\n  - {id: p, base_url: 'http://i', api: anthropic, models: [{name: e}]}\n";
        let config = load(&[("config.yml", file)], &[]).unwrap();
        let apis: Vec<_> = config.endpoints.iter().map(|one| one.endpoint.profile.api).collect();
        assert_eq!(apis, [Api::Messages, Api::Responses, Api::Messages, Api::Chat, Api::Messages]);
        let error = load(&[("config.yml", "models: [{id: a, api_url: 'http://h', api: soap}]\n")], &[]).err().unwrap();
        assert!(error.to_string().contains("soap"), "{error}");
    }
}
