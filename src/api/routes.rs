//! The table of all routes. Each is listed once; the router and the OpenAPI document are both built from it.

use axum::extract::DefaultBodyLimit;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use super::app::App;
use super::{
    auth, chat, conversations, files, models, projects, requests, retrieval, security, sessions, stats, status, tools,
};

/// Maximum bytes of an imported session, which contains its compacted messages and its pictures.
const MAX_IMPORT: usize = 256 << 20;

/// Maximum bytes of a change of settings or of a provider.
const MAX_SETTINGS: usize = 64 << 10;

/// Returns all routes that the OpenAPI document describes.
pub fn described() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(status::server::health))
        .routes(routes!(status::server::status))
        .routes(routes!(models::list::models))
        .routes(routes!(security::login::login).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(security::login::logout))
        .routes(routes!(auth::account::mode))
        .routes(routes!(auth::account::register).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(auth::account::login).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(auth::proxy::sign_in_by_proxy).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(auth::account::logout))
        .routes(routes!(auth::account::logout_everywhere))
        .routes(routes!(auth::account::password).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(
            routes!(auth::profile::profile, auth::profile::change_profile).layer(DefaultBodyLimit::max(MAX_SETTINGS)),
        )
        .routes(routes!(auth::tokens::list_tokens, auth::tokens::make_token).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(auth::tokens::delete_token))
        .routes(routes!(auth::people::people))
        .routes(routes!(auth::people::change_person).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(auth::people::reset_password))
        .routes(routes!(auth::usage::usage_of_people))
        .routes(routes!(auth::usage::usage_of_people_csv))
        .routes(routes!(auth::audit::audit))
        .routes(
            routes!(auth::invitations::list_invitations, auth::invitations::invite)
                .layer(DefaultBodyLimit::max(MAX_SETTINGS)),
        )
        .routes(routes!(auth::invitations::delete_invitation))
        .routes(routes!(models::providers::check_address).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(
            routes!(models::providers::providers, models::providers::add).layer(DefaultBodyLimit::max(MAX_SETTINGS)),
        )
        .routes(
            routes!(models::providers::change, models::providers::remove).layer(DefaultBodyLimit::max(MAX_SETTINGS)),
        )
        .routes(routes!(models::providers::find))
        .routes(routes!(models::providers::check))
        .routes(routes!(models::providers::set_default))
        .routes(routes!(models::providers::set_fallback))
        .routes(
            routes!(models::own_providers::own_providers, models::own_providers::add_own)
                .layer(DefaultBodyLimit::max(MAX_SETTINGS)),
        )
        .routes(
            routes!(models::own_providers::change_own, models::own_providers::remove_own)
                .layer(DefaultBodyLimit::max(MAX_SETTINGS)),
        )
        .routes(routes!(models::own_providers::check_own))
        .routes(routes!(models::own_providers::set_own_default))
        .routes(routes!(models::providers::change_model).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(chat::message::chat))
        .routes(routes!(chat::events::all_events))
        .routes(routes!(chat::events::session_events))
        .routes(routes!(conversations::conversation::list, conversations::conversation::create))
        .routes(routes!(
            conversations::conversation::read,
            conversations::conversation::change,
            conversations::conversation::delete
        ))
        .routes(routes!(conversations::message::messages, conversations::sending::send))
        .routes(routes!(conversations::message::delete_message))
        .routes(routes!(conversations::sending::regenerate))
        .routes(routes!(projects::project::list, projects::project::create))
        .routes(routes!(projects::project::read, projects::project::change, projects::project::delete))
        .routes(routes!(projects::project::restore))
        // What arrives is counted and written as it arrives.
        .routes(routes!(projects::upload::upload).layer(DefaultBodyLimit::disable()))
        .routes(routes!(projects::uploads::begin, projects::uploads::list))
        .routes(routes!(projects::uploads::read, projects::uploads::cancel))
        .routes(routes!(projects::uploads::add, projects::uploads::remove).layer(DefaultBodyLimit::disable()))
        .routes(routes!(projects::uploads::commit))
        .routes(routes!(projects::link::link).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(projects::files::list, projects::add::add).layer(DefaultBodyLimit::disable()))
        .routes(routes!(
            projects::content::read,
            projects::files::write,
            projects::files::rename,
            projects::files::delete
        ))
        .routes(routes!(projects::members::list))
        .routes(routes!(projects::members::set, projects::members::remove).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(projects::members::invitations))
        .routes(routes!(projects::members::accept, projects::members::decline))
        .routes(routes!(projects::files::make_folder))
        .routes(routes!(projects::search::search))
        .routes(routes!(projects::find::find))
        .routes(routes!(projects::links::count, projects::links::update))
        .routes(routes!(projects::links::undo))
        .routes(routes!(projects::secrets::list))
        .routes(routes!(projects::secrets::set, projects::secrets::remove).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(projects::git::status))
        .routes(routes!(projects::git::diff))
        .routes(routes!(projects::git::init))
        .routes(routes!(projects::git::stage))
        .routes(routes!(projects::git::unstage))
        .routes(routes!(projects::git::discard))
        .routes(routes!(projects::git::undo_discard))
        .routes(routes!(projects::git_history::commit).layer(DefaultBodyLimit::max(MAX_SETTINGS)))
        .routes(routes!(projects::git_history::log))
        .routes(routes!(projects::git_history::branches, projects::git_history::create_branch))
        .routes(routes!(projects::git_history::switch))
        .routes(routes!(projects::notes::passages))
        .routes(routes!(projects::notes::notes))
        .routes(routes!(projects::notes::note_mentions))
        .routes(routes!(sessions::session::list, sessions::session::create))
        .routes(routes!(sessions::session::rename, sessions::session::delete))
        .routes(routes!(sessions::session::restore))
        .routes(routes!(sessions::find::find))
        .routes(routes!(sessions::pins::pin, sessions::pins::unpin))
        .routes(routes!(sessions::labels::set))
        .routes(routes!(sessions::pins::pin_message, sessions::pins::unpin_message))
        .routes(routes!(sessions::archive::archive, sessions::archive::unarchive))
        .routes(routes!(sessions::compacted::compacted_parts))
        .routes(routes!(sessions::compacted::compacted))
        .routes(routes!(models::choice::choose))
        .routes(routes!(sessions::project::bind))
        .routes(routes!(sessions::jobs::list_jobs))
        .routes(routes!(sessions::jobs::stop_job))
        .routes(routes!(sessions::compress::preview))
        .routes(routes!(sessions::compress::restore_compacted))
        .routes(routes!(sessions::deleted::deleted))
        .routes(routes!(sessions::deleted::purge))
        .routes(routes!(files::deleted::trashed, files::deleted::purge_file))
        .routes(routes!(sessions::transfer::export))
        .routes(routes!(sessions::transfer::import).layer(DefaultBodyLimit::max(MAX_IMPORT)))
        .routes(routes!(sessions::transfer::branch))
        .routes(routes!(sessions::rewind::rewind))
        .routes(routes!(sessions::taint::clear))
        .routes(routes!(sessions::session::messages, chat::sending::say))
        .routes(routes!(sessions::history::history))
        .routes(routes!(sessions::operations::operations))
        .routes(routes!(chat::sending::interrupt))
        .routes(routes!(chat::sending::continue_work))
        .routes(routes!(chat::queue::edit, chat::queue::remove))
        .routes(routes!(chat::queue::send))
        .routes(routes!(sessions::undo::undo))
        .routes(routes!(sessions::undo::preview_undo))
        .routes(routes!(sessions::undo::preview_later_undo))
        .routes(routes!(sessions::undo::text_before))
        .routes(routes!(sessions::withdraw::withdraw))
        .routes(routes!(sessions::withdraw::reapply))
        .routes(routes!(sessions::changes::changes))
        .routes(routes!(sessions::changes::content))
        .routes(routes!(sessions::session::generate_title))
        .routes(routes!(sessions::compress::compression, sessions::compress::compress))
        .routes(routes!(chat::approvals::list))
        .routes(routes!(chat::approvals::answer))
        .routes(routes!(chat::approvals::hold))
        .routes(routes!(chat::approvals::rehearse))
        .routes(routes!(chat::rehearsals::changes))
        .routes(routes!(chat::rehearsals::content))
        .routes(routes!(chat::approvals::rules))
        .routes(routes!(chat::approvals::remove_rule))
        .routes(routes!(files::file::read, files::file::save, files::moving::delete))
        .routes(routes!(files::file::list))
        .routes(routes!(files::folder::folder))
        .routes(routes!(files::folder::find))
        .routes(routes!(files::search::search))
        .routes(routes!(files::moving::rename))
        .routes(routes!(files::moving::restore))
        .routes(routes!(files::skills::skills))
        .routes(routes!(files::skills::enable_skill))
        .routes(routes!(files::trust::trust_of, files::trust::trust))
        .routes(routes!(requests::tokens::session_tokens))
        .routes(routes!(requests::tokens::request_tokens))
        .routes(routes!(requests::tokens::file_tokens))
        .routes(routes!(requests::tokens::text_tokens))
        .routes(routes!(chat::attachments::attachment_tokens))
        .routes(routes!(chat::attachments::picture))
        .routes(routes!(tools::tools))
        .routes(routes!(tools::choose))
        .routes(routes!(stats::tokens::tokens))
        .routes(routes!(stats::csv::tokens_csv))
        .routes(routes!(stats::own_limits::set_own_limits))
        .routes(routes!(status::settings::rag_mode, status::settings::set_rag_mode))
        .routes(
            routes!(status::config_file::settings, status::config_file::change_settings)
                .layer(DefaultBodyLimit::max(MAX_SETTINGS)),
        )
        .routes(routes!(requests::prompt::prompt))
        .routes(routes!(requests::sent::requests))
        .routes(routes!(requests::sent::request))
        .routes(routes!(requests::sent::retrieved))
        .routes(routes!(retrieval::library::search))
        .routes(routes!(retrieval::library::status))
        .routes(routes!(retrieval::library::chunks))
        .routes(routes!(retrieval::library::tests, retrieval::library::run_tests))
}
