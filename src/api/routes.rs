//! Every route there is, once: it serves, and it describes itself.

use axum::extract::DefaultBodyLimit;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use super::app::App;
use super::{
    approvals, archive, attachments, away, chat, choice, compress, events, files, find, moving, pins, prompt, provider,
    requests, retrieval, rewind, sessions, settings, status, taint, tokens, transfer, trust, undo, usage,
};

/// An exported session holds its archives and its pictures.
const MAX_IMPORT: usize = 256 << 20;

/// All routes that the OpenAPI document describes.
pub fn described() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(status::health))
        .routes(routes!(status::status))
        .routes(routes!(status::models))
        .routes(routes!(status::login))
        .routes(routes!(provider::check))
        .routes(routes!(provider::connect))
        .routes(routes!(chat::chat))
        .routes(routes!(events::all_events))
        .routes(routes!(events::session_events))
        .routes(routes!(sessions::list, sessions::create))
        .routes(routes!(sessions::rename, sessions::delete))
        .routes(routes!(sessions::restore))
        .routes(routes!(find::find))
        .routes(routes!(pins::pin, pins::unpin))
        .routes(routes!(away::put_away, away::put_back))
        .routes(routes!(archive::archives))
        .routes(routes!(archive::archived))
        .routes(routes!(choice::choose))
        .routes(routes!(compress::preview))
        .routes(routes!(compress::restore_archive))
        .routes(routes!(archive::deleted))
        .routes(routes!(archive::forget))
        .routes(routes!(archive::trashed, archive::forget_file))
        .routes(routes!(transfer::export))
        .routes(routes!(transfer::import).layer(DefaultBodyLimit::max(MAX_IMPORT)))
        .routes(routes!(transfer::branch))
        .routes(routes!(rewind::rewind))
        .routes(routes!(taint::clear))
        .routes(routes!(sessions::messages, sessions::say))
        .routes(routes!(sessions::history))
        .routes(routes!(sessions::interrupt))
        .routes(routes!(undo::undo))
        .routes(routes!(undo::preview_undo))
        .routes(routes!(sessions::generate_title))
        .routes(routes!(compress::compression, compress::compress))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::answer))
        .routes(routes!(approvals::rules))
        .routes(routes!(approvals::remove_rule))
        .routes(routes!(files::read, files::save, moving::delete))
        .routes(routes!(files::list))
        .routes(routes!(moving::rename))
        .routes(routes!(moving::restore))
        .routes(routes!(files::skills))
        .routes(routes!(trust::trust_of, trust::trust))
        .routes(routes!(tokens::session_tokens))
        .routes(routes!(tokens::file_tokens))
        .routes(routes!(tokens::text_tokens))
        .routes(routes!(attachments::attachment_tokens))
        .routes(routes!(attachments::picture))
        .routes(routes!(usage::usage))
        .routes(routes!(settings::rag_mode, settings::set_rag_mode))
        .routes(routes!(prompt::prompt))
        .routes(routes!(requests::requests))
        .routes(routes!(requests::request))
        .routes(routes!(requests::retrieved))
        .routes(routes!(retrieval::search))
        .routes(routes!(retrieval::status))
        .routes(routes!(retrieval::chunks))
        .routes(routes!(retrieval::tests, retrieval::run_tests))
}
