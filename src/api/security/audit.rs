//! Records the requests that belong in the audit log: every change of accounts, and everything by which an admin changes the
//! server. A new path below those of admins is recorded without being listed here.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRequestParts, MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use crate::api::app::App;
use crate::api::error::{ApiError, RefusedWith};
use crate::api::security::caller::Identity;
use crate::api::security::client::{Client, Peer};
use crate::api::security::person::Right;
use crate::domain::AccountId;
use crate::engine::people::{Act, People};

/// When an act is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// Before it happens, and it does not happen if that fails.
    Before,
    /// After it happened.
    After,
}

/// The acts by method and path, each with the event that is recorded.
const ACTS: &[(&str, &str, &str)] = &[
    ("POST", "/api/auth/login", "sign_in"),
    ("POST", "/api/auth/proxy", "sign_in"),
    ("POST", "/api/auth/register", "registered"),
    ("POST", "/api/auth/logout", "sign_out"),
    ("POST", "/api/logout", "sign_out"),
    ("POST", "/api/auth/logout-everywhere", "sign_out_everywhere"),
    ("POST", "/api/auth/password", "password_changed"),
    ("PATCH", "/api/auth/profile", "profile_changed"),
    ("POST", "/api/auth/tokens", "token_made"),
    ("DELETE", "/api/auth/tokens/{id}", "token_deleted"),
    ("PATCH", "/api/admin/people/{id}", "account_changed"),
    ("POST", "/api/admin/people/{id}/password", "password_reset"),
    ("POST", "/api/admin/invitations", "invitation_made"),
    ("DELETE", "/api/admin/invitations/{id}", "invitation_deleted"),
    ("PUT", "/api/projects/{id}/members/{username}", "member_set"),
    ("DELETE", "/api/projects/{id}/members/{username}", "member_removed"),
    ("POST", "/api/projects/invitations/{project_id}", "project_joined"),
    ("DELETE", "/api/projects/invitations/{project_id}", "project_declined"),
    ("PATCH", "/api/settings", "settings_changed"),
    ("POST", "/api/providers", "provider_changed"),
    ("PATCH", "/api/providers/{id}", "provider_changed"),
    ("DELETE", "/api/providers/{id}", "provider_changed"),
    ("PATCH", "/api/models/{id}", "model_changed"),
    ("PUT", "/api/models/default", "model_changed"),
    ("PUT", "/api/models/fallback", "model_changed"),
];
/// Paths that change nothing.
const READS: &[&str] = &["/api/providers/check", "/api/providers/find", "/api/providers/{id}/check"];
/// Below these paths every other change is one of an admin.
const OF_ADMINS: &[&str] = &["/api/admin/", "/api/settings", "/api/providers", "/api/models/"];

/// Returns the event of a request, and when it is recorded; `None` if it does not belong in the log.
fn event(method: &Method, path: &str) -> Option<(&'static str, When)> {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) || READS.contains(&path) {
        return None;
    }
    let is_admins = OF_ADMINS.iter().any(|start| path.starts_with(start));
    let when = if is_admins { When::Before } else { When::After };
    let known = ACTS.iter().find(|(verb, known, _)| *verb == method.as_str() && *known == path);
    known.map(|(_, _, event)| *event).or(is_admins.then_some("admin_request")).map(|event| (event, when))
}

/// What a handler adds to the entry of its request. Nothing in it may be a secret, or text that a person chose freely.
#[derive(Clone, Debug, Default)]
pub struct AuditNote(Arc<Mutex<Noted>>);

#[derive(Clone, Debug, Default)]
struct Noted {
    account: Option<AccountId>,
    detail: Map<String, Value>,
}

impl AuditNote {
    /// Says which account the request is about.
    pub fn account(&self, account: AccountId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).account = Some(account);
    }

    /// Says what is changed. `None` says nothing.
    pub fn detail(&self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).detail.insert(name.to_owned(), value);
        }
    }

    fn noted(&self) -> Noted {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl FromRequestParts<App> for AuditNote {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

/// Answers a request, and records it if it belongs in the log.
pub async fn recorded(app: &App, mut request: Request, next: Next) -> Response {
    let Some(people) = app.people.clone() else { return next.run(request).await };
    let template = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let found = template.as_deref().and_then(|template| Some((template, event(request.method(), template)?)));
    let Some((template, (event, when))) = found else { return next.run(request).await };
    let identity = request.extensions().get::<Identity>().cloned();
    let client = Client::of(&app.access.proxies, Peer::of(request.extensions()), request.headers());
    let mut act = Act {
        event,
        actor: identity.as_ref().and_then(|identity| identity.person.account().cloned()),
        address: Some(client.address),
        ..Act::default()
    };
    about(&mut act, template, request.uri().path());
    if event == "admin_request" {
        act.detail.insert("request".to_owned(), format!("{} {template}", request.method()).into());
    }
    let note = AuditNote::default();
    request.extensions_mut().insert(note.clone());
    // What is refused anyway waits for no disk.
    let rights = identity.as_ref().map(|identity| identity.person.rights());
    let may_act = rights.is_some_and(|rights| rights.has(Right::ManageServer) || rights.has(Right::ManagePeople));
    let is_before = when == When::Before && may_act;
    let answering = next.run(request);
    // In a task of its own: whoever disconnects in between is recorded too.
    let answered = tokio::spawn(async move {
        if is_before {
            by_admin((&people, note), act, answering).await
        } else {
            by_person((&people, note), act, answering).await
        }
    });
    answered.await.unwrap_or_else(|_| ApiError::panicked())
}

async fn by_person(
    (people, note): (&Arc<People>, AuditNote),
    mut act: Act,
    answering: impl Future<Output = Response>,
) -> Response {
    let answer = answering.await;
    add(&mut act, note);
    let refused = refusal(&answer);
    if refused.is_none() {
        // Who has signed in is the actor.
        act.actor = act.actor.or(act.account.clone());
    }
    // A client that has to wait has been recorded often enough.
    if refused != Some("too_many_tries") {
        people.record(&act, refused).await;
    }
    answer
}

async fn by_admin(
    (people, note): (&Arc<People>, AuditNote),
    mut act: Act,
    answering: impl Future<Output = Response>,
) -> Response {
    let id = match people.record_begin(&act).await {
        Ok(id) => id,
        Err(error) => return ApiError::from(error).into_response(),
    };
    let answer = answering.await;
    add(&mut act, note);
    people.record_end(id, &act, refusal(&answer)).await;
    answer
}

/// Adds what a handler has noted.
fn add(act: &mut Act, note: AuditNote) {
    let Noted { account, detail } = note.noted();
    act.account = account.or(act.account.take());
    act.detail.extend(detail);
}

/// Adds what the path says: the account, or another id.
fn about(act: &mut Act, template: &str, path: &str) {
    let named = template.split('/').zip(path.split('/')).find(|(part, _)| *part == "{id}").map(|(_, id)| id);
    match named {
        Some(id) if template.starts_with("/api/admin/people/") => act.account = AccountId::parse(id),
        Some(id) => {
            act.detail.insert("id".to_owned(), id.chars().take(100).collect::<String>().into());
        }
        None => {}
    }
}

fn refusal(answer: &Response) -> Option<&'static str> {
    let is_refused = answer.status().is_client_error() || answer.status().is_server_error();
    let code = answer.extensions().get::<RefusedWith>().map(|refused| refused.code);
    is_refused.then(|| {
        code.unwrap_or(if answer.status() == StatusCode::UNPROCESSABLE_ENTITY { "bad_json" } else { "refused" })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::document;

    #[test]
    fn every_change_by_an_admin_is_recorded_before() {
        let document = serde_json::to_value(document()).unwrap();
        let mut found = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                let method: Method = method.to_uppercase().parse().unwrap();
                let is_admins = OF_ADMINS.iter().any(|start| path.starts_with(start));
                let changes = method != Method::GET && !READS.contains(&path.as_str());
                if changes && (is_admins || path.starts_with("/api/auth/")) {
                    found += 1;
                    let (event, when) = event(&method, path).unwrap_or_else(|| panic!("{method} {path}"));
                    assert_eq!(when == When::Before, is_admins, "{method} {path}");
                    assert_ne!(event, "admin_request", "{method} {path} needs an event in ACTS");
                }
            }
        }
        assert!(found >= 18, "{found}");
        for (verb, path, _) in ACTS {
            assert!(document["paths"][path][verb.to_lowercase()].is_object(), "{verb} {path} is no path");
        }
        assert_eq!(event(&Method::POST, "/api/admin/new"), Some(("admin_request", When::Before)));
        assert_eq!(event(&Method::GET, "/api/admin/people"), None);
        assert_eq!(event(&Method::POST, "/api/sessions"), None);
    }
}
