//! Makes the router and the OpenAPI document from one table of handlers, each without the other: the document takes some
//! megabytes and a third of the time of a start to make, and is rarely asked for.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter};
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::HttpMethod;

use super::app::App;

/// What handlers are added to, with what the attribute `utoipa::path` knows about each.
pub trait Routes {
    /// Adds a handler, with a limit of its body if that is not the usual one. The macro `route!` names the first type.
    fn add<P, H, T>(&mut self, handler: H, limit: Option<DefaultBodyLimit>)
    where
        P: utoipa::Path + Tags<'static> + SchemaReferences,
        H: Handler<T, App>,
        T: 'static;
}

impl Routes for Router<App> {
    fn add<P, H, T>(&mut self, handler: H, limit: Option<DefaultBodyLimit>)
    where
        P: utoipa::Path + Tags<'static> + SchemaReferences,
        H: Handler<T, App>,
        T: 'static,
    {
        let add = |to: MethodRouter<App>, method| to.on(filter(method), handler.clone());
        let methods = P::methods().into_iter().fold(MethodRouter::new(), add);
        let methods = match limit {
            Some(limit) => methods.layer(limit),
            None => methods,
        };
        *self = std::mem::take(self).route(&P::path(), methods);
    }
}

impl Routes for OpenApi {
    fn add<P, H, T>(&mut self, _: H, _: Option<DefaultBodyLimit>)
    where
        P: utoipa::Path + Tags<'static> + SchemaReferences,
        H: Handler<T, App>,
        T: 'static,
    {
        let mut schemas = Vec::new();
        P::schemas(&mut schemas);
        self.components.get_or_insert_default().schemas.extend(schemas);
        let mut operation = P::operation();
        let tags = P::tags();
        if !tags.is_empty() {
            operation.tags.get_or_insert_default().extend(tags.into_iter().map(str::to_owned));
        }
        self.paths.add_path_operation(P::path(), P::methods(), operation);
    }
}

fn filter(method: HttpMethod) -> MethodFilter {
    match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
    }
}

/// Adds a handler to [`Routes`]: `route!(routes, module::handler)`, or with a limit of its body as a third argument. The
/// attribute `utoipa::path` has made a type next to the handler, whose name begins with `__path_`.
macro_rules! route {
    (@in [$($module:ident)*] $next:ident :: $($rest:ident)::+, $routes:expr, $limit:expr) => {
        route!(@in [$($module)* $next] $($rest)::+, $routes, $limit)
    };
    (@in [$($module:ident)*] $handler:ident, $routes:expr, $limit:expr) => {
        pastey::paste! { $routes.add::<$($module::)*[<__path_ $handler>], _, _>($($module::)*$handler, $limit) }
    };
    ($routes:expr, $($handler:ident)::+) => { route!(@in [] $($handler)::+, $routes, None) };
    ($routes:expr, $($handler:ident)::+, $limit:expr) => { route!(@in [] $($handler)::+, $routes, Some($limit)) };
}
pub(super) use route;
