//! Where a person signs in to a server: the metadata of the protected resource (RFC 9728), which names the authorization
//! server, and the metadata of that (RFC 8414, OpenID Connect Discovery). All of it is text from outside: every address in it
//! passes the guard, redirects are not followed, and what does not belong together is refused.

use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use super::challenge::Challenge;
use crate::tools::fetch_url::StreamClient;
use crate::tools::mcp::address::{check_address, shown};

/// Maximum bytes of a document of metadata, and how long all of it may take.
const MAX_METADATA: usize = 256 << 10;
const METADATA_TIMEOUT: Duration = Duration::from_secs(15);

/// The server that a person signs in to, and the authorization server that they sign in at.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovered {
    /// What the tokens are for (RFC 8707).
    pub resource: String,
    pub issuer: String,
    pub authorization_endpoint: Url,
    pub token_endpoint: Url,
    pub registration_endpoint: Option<Url>,
    /// Scopes that the protected resource names.
    pub resource_scopes: Vec<String>,
    /// Scopes that the authorization server names.
    pub issuer_scopes: Vec<String>,
    /// The answer to the page has `iss` (RFC 9207).
    pub sends_issuer: bool,
    /// It takes the address of a metadata document as the id of a client.
    pub takes_client_metadata: bool,
    /// How clients with a secret may prove themselves at the token endpoint.
    pub client_proofs: Vec<String>,
}

/// Asks where a person signs in to the server at `url`.
///
/// # Errors
/// Returns a sentence if the server does not say it, or what it says cannot be used.
pub async fn discover(client: &StreamClient, url: &Url, challenge: &Challenge) -> Result<Discovered, String> {
    let found = async {
        let resource = protected_resource(client, url, challenge).await?;
        let metadata = authorization_server(client, &resource.issuer).await?;
        parsed(client, resource, &metadata)
    };
    let late = |_| format!("nothing says within {} s where to sign in", METADATA_TIMEOUT.as_secs());
    tokio::time::timeout(METADATA_TIMEOUT, found).await.map_err(late)?
}

struct ProtectedResource {
    resource: String,
    issuer: String,
    scopes: Vec<String>,
}

async fn protected_resource(
    client: &StreamClient,
    url: &Url,
    challenge: &Challenge,
) -> Result<ProtectedResource, String> {
    let document = match &challenge.resource_metadata {
        Some(named) => {
            let missing = || format!("there is no document at {named}, where the server says it is");
            Some(document(client, &check_address(named)?).await?.ok_or_else(missing)?)
        }
        None => {
            let path = url.path().trim_end_matches('/');
            let mut found = None;
            for path in [path, ""] {
                let known = at(url, &format!("/.well-known/oauth-protected-resource{path}"));
                found = document(client, &known).await?;
                if found.is_some() || path.is_empty() {
                    break;
                }
            }
            found
        }
    };
    let Some(document) = document else {
        // Servers of older revisions are their own authorization server.
        let issuer = url.origin().ascii_serialization();
        return Ok(ProtectedResource { resource: without_fragment(url), issuer, scopes: Vec::new() });
    };
    let resource = document["resource"].as_str().unwrap_or_default();
    if !is_resource_of(resource, url) {
        return Err(format!("its metadata are those of {}, which is another server", shown(resource)));
    }
    let issuer = document["authorization_servers"][0].as_str().ok_or("it names no authorization server")?;
    let issuer_address = check_address(issuer)?;
    if issuer_address.query().is_some() || issuer_address.fragment().is_some() {
        return Err(format!("{issuer} is no address of an authorization server"));
    }
    Ok(ProtectedResource {
        resource: resource.to_owned(),
        issuer: issuer.to_owned(),
        scopes: texts(&document["scopes_supported"]),
    })
}

/// Returns whether a resource is the server, or a part of its origin in which it is.
fn is_resource_of(resource: &str, url: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (folder, path) = (resource.path().trim_end_matches('/'), url.path());
    let is_above = path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == url.origin() && is_above && resource.fragment().is_none()
}

async fn authorization_server(client: &StreamClient, issuer: &str) -> Result<Value, String> {
    let address = check_address(issuer)?;
    let path = address.path().trim_end_matches('/');
    let mut places = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{path}/.well-known/openid-configuration"));
    }
    for place in places {
        let Some(document) = document(client, &at(&address, &place)).await? else { continue };
        let named = document["issuer"].as_str().unwrap_or_default();
        if named.trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err(format!("the metadata of {issuer} are those of {}", shown(named)));
        }
        return Ok(document);
    }
    Err(format!("the authorization server {issuer} does not say how to sign in"))
}

fn parsed(client: &StreamClient, resource: ProtectedResource, metadata: &Value) -> Result<Discovered, String> {
    let endpoint = |name: &str| match metadata[name].as_str() {
        None => Ok(None),
        Some(text) => {
            let url = check_address(text)?;
            client.check(&url).map_err(|why| format!("{}: {why}", shown(text))).map(|()| Some(url))
        }
    };
    let needed = |name: &str| endpoint(name)?.ok_or(format!("the authorization server names no {name}"));
    if !texts(&metadata["code_challenge_methods_supported"]).iter().any(|method| method == "S256") {
        return Err(
            "the authorization server does not offer PKCE with S256, so the sign-in would not be safe".to_owned()
        );
    }
    Ok(Discovered {
        authorization_endpoint: needed("authorization_endpoint")?,
        token_endpoint: needed("token_endpoint")?,
        registration_endpoint: endpoint("registration_endpoint")?,
        // As the authorization server writes it, because the answer to the page is compared with it.
        issuer: metadata["issuer"].as_str().unwrap_or_default().to_owned(),
        resource: resource.resource,
        resource_scopes: resource.scopes,
        issuer_scopes: texts(&metadata["scopes_supported"]),
        sends_issuer: metadata["authorization_response_iss_parameter_supported"] == json!(true),
        takes_client_metadata: metadata["client_id_metadata_document_supported"] == json!(true),
        client_proofs: texts(&metadata["token_endpoint_auth_methods_supported"]),
    })
}

/// Fetches a document; `None` if there is none.
async fn document(client: &StreamClient, url: &Url) -> Result<Option<Value>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("{url}: {why}");
    let answer = client.get(url).await.map_err(|error| failed(&error))?;
    match answer.status {
        200 => {}
        400..=499 => return Ok(None),
        status => return Err(failed(&format_args!("the HTTP status {status}"))),
    }
    let body = answer.whole(MAX_METADATA).await.map_err(|error| failed(&error))?;
    let body = body.ok_or_else(|| failed(&"the document is larger than 256 KB"))?;
    let document: Value = serde_json::from_slice(&body).map_err(|_| failed(&"this is no JSON"))?;
    Ok(Some(document))
}

fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

fn without_fragment(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.to_string()
}

fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    super::challenge::scopes_of(&texts.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_is_the_server_or_above_it() {
        let url = Url::parse("https://mcp.example.com/team/mcp").unwrap();
        for (resource, is_fine) in [
            ("https://mcp.example.com/team/mcp", true),
            ("https://MCP.example.com:443/team/", true),
            ("https://mcp.example.com", true),
            ("https://mcp.example.com/te", false),
            ("https://mcp.example.com/other", false),
            ("https://mcp.example.com/team/mcp#x", false),
            ("http://mcp.example.com/team/mcp", false),
            ("https://mcp.example.com.evil.test/team/mcp", false),
            ("https://evil.test/team/mcp", false),
            ("", false),
        ] {
            assert_eq!(is_resource_of(resource, &url), is_fine, "{resource}");
        }
    }
}
