//! The people of a server: their accounts, how they sign in, and what admins do. Nothing here reaches a person's home.

mod accounts;
mod admin;
mod attempts;
mod audit;
pub mod credential;
mod devices;
mod following;
mod joining;
mod login_limiter;
mod members;
pub mod offline;
mod passwords;
mod proxy_user;
mod sign_ins;
mod totals;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::{Mutex, watch};

use super::{Engine, EngineError, Tenant, TenantRegistry, blocking};
use crate::clock;
use crate::cluster::Cluster;
use crate::domain::{Account, AccountBook, AccountId, AccountRefused, HomeId, MembersRefused, UidRange};
use crate::store::{AccountsUnusable, StoreError, StoredAccounts};

pub use accounts::{LoginFrom, NewAccessToken, NewToken, ProfileChange, SignedIn};
pub use admin::{AccountChange, NewInvitation};
pub use audit::Act;
pub use credential::{Credential, NotAccepted};
pub use devices::DEVICE_LIFE;
pub use joining::Joining;
pub use login_limiter::LoginLimiter;
pub use members::{ProjectInvitation, ProjectPeople, ShownMember};
pub use proxy_user::ByProxy;
pub use sign_ins::{SIGN_IN_LIFE, cluster_fingerprint, fingerprint, shared_setup_code};
pub use totals::{MeasuredSize, PersonTotals, PersonUsage};

use attempts::Attempts;
use devices::DeviceKey;
use following::Followed;
use members::Members;
use passwords::Passwords;
use sign_ins::SignInKeys;

/// The people of a server that several people use.
pub struct People {
    /// The home of the server, which holds the accounts. In a cluster, another server may have it, and it is opened when it is needed.
    server: Option<Arc<Engine>>,
    /// Set in a cluster.
    followed: Option<Followed>,
    tenants: Arc<TenantRegistry>,
    /// The accounts as they are on disk.
    book: watch::Sender<Arc<AccountBook>>,
    /// The hash of the file. Held while it is written.
    stored: Mutex<Option<String>>,
    members: Members,
    passwords: Passwords,
    keys: SignInKeys,
    devices: DeviceKey,
    names: Attempts,
    addresses: LoginLimiter,
    /// From which accounts get the users that their commands run as; absent if commands cannot run like that here.
    uids: Option<UidRange>,
    audit_quotas: audit::Quotas,
    sizes: totals::Sizes,
    /// Whether a trusted proxy has named people since the start.
    names_by_proxy: bool,
    /// With which the first account is made.
    setup_code: Option<String>,
}

/// Why the people of a server could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum PeopleUnusable {
    #[error(transparent)]
    Accounts(#[from] AccountsUnusable),
    #[error("the key of sign-ins is missing")]
    NoSecret,
    #[error("passwords cannot be hashed on this machine")]
    NoHashes,
}

/// Why a request about accounts failed.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    #[error(transparent)]
    Refused(#[from] AccountRefused),
    #[error("accounts.json was changed by another program; restart the server to use it")]
    ChangedOnDisk,
    #[error(transparent)]
    Members(MembersRefused),
    #[error("the audit log cannot be written, so nothing was changed: {0}")]
    NoAudit(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The accounts when a server starts.
struct Found {
    book: AccountBook,
    /// The hash of the file.
    stored: Option<String>,
    members: Members,
    setup_code: String,
}

impl People {
    /// Reads the accounts from the home of the server, whose tenant is `server`.
    ///
    /// # Errors
    /// Returns an error if they are damaged, or there is no key of sign-ins.
    pub async fn open(tenants: Arc<TenantRegistry>, server: Arc<Engine>) -> Result<Arc<Self>, PeopleUnusable> {
        let home = server.tenant().home.clone();
        let read = tokio::task::spawn_blocking(move || (home.accounts(), home.members()));
        let (found, members) = read.await.map_err(|_| AccountsUnusable::Store(StoreError::ShutDown))?;
        let StoredAccounts { book, etag } = found?;
        let members = Members::new(members.map_err(AccountsUnusable::Store)?);
        let found = Found { book, stored: etag, members, setup_code: clock::new_secret() };
        let people = Self::with(tenants, found, (Some(server), None)).await?;
        people.look_at_exchange().await;
        people.tell_tenants();
        if people.uids.is_some() && people.book().accounts.iter().any(|account| account.uid.is_none()) {
            // Accounts of an earlier version, or of a server on which commands could not run.
            if let Err(error) = people.edit(|_| Ok(())).await {
                tracing::error!(%error, "accounts got no user for their commands; they have none until the next start");
            }
        }
        Ok(people)
    }

    /// Reads the accounts of a cluster, and follows their changes. `setup_code` is the same on all its servers.
    ///
    /// # Errors
    /// Returns an error if they are damaged, if there is no key of sign-ins, or if the database does not answer.
    pub async fn of_cluster(
        tenants: Arc<TenantRegistry>,
        cluster: Arc<Cluster>,
        setup_code: String,
    ) -> Result<Arc<Self>, PeopleUnusable> {
        let accounts = cluster.accounts(0).await.map_err(|error| AccountsUnusable::Store(error.into()))?;
        let (number, book) = accounts.map(|accounts| (accounts.number, accounts.book)).unwrap_or_default();
        let found = Found { book, stored: None, members: Members::none(), setup_code };
        let followed = Followed::new(cluster, number);
        let people = Self::with(tenants, found, (None, Some(followed))).await?;
        people.tell_tenants();
        people.follow();
        Ok(people)
    }

    async fn with(
        tenants: Arc<TenantRegistry>,
        Found { book, stored, members, setup_code }: Found,
        (server, followed): (Option<Arc<Engine>>, Option<Followed>),
    ) -> Result<Arc<Self>, PeopleUnusable> {
        let runtime = tenants.runtime().clone();
        let config = runtime.config();
        let secret = config.people.jwt_secret.as_ref().ok_or(PeopleUnusable::NoSecret)?;
        let uids = config.people.uids;
        let look = tokio::task::spawn_blocking(move || runtime.sandbox.person_obstacle(uids));
        let obstacle = look.await.map_err(|_| AccountsUnusable::Store(StoreError::ShutDown))?;
        if let Some(obstacle) = &obstacle {
            tracing::warn!("the commands of people are left out: {obstacle}");
        }
        Ok(Arc::new(Self {
            uids: obstacle.is_none().then_some(uids),
            setup_code: book.accounts.is_empty().then_some(setup_code),
            book: watch::Sender::new(Arc::new(book)),
            stored: Mutex::new(stored),
            members,
            passwords: Passwords::new().await.map_err(|_| PeopleUnusable::NoHashes)?,
            keys: SignInKeys::new(secret),
            devices: DeviceKey::new(secret),
            names: Attempts::default(),
            addresses: LoginLimiter::default(),
            audit_quotas: audit::Quotas::default(),
            sizes: totals::Sizes::default(),
            names_by_proxy: config.people.proxy_sign_in.is_some(),
            server,
            followed,
            tenants,
        }))
    }

    /// Returns the tenant of the home of the server.
    ///
    /// # Errors
    /// Returns an error if another server of the cluster has it.
    async fn server(&self) -> Result<Arc<Tenant>, EngineError> {
        match &self.server {
            Some(server) => Ok(server.tenant().clone()),
            None => Ok(self.tenants.open(&HomeId::Server).await?.tenant().clone()),
        }
    }

    /// Returns the code with which the first account is made, if there was none at the start. Its holder becomes the admin,
    /// so only the person who started the server may see it.
    pub fn setup_code(&self) -> Option<&str> {
        self.setup_code.as_deref()
    }

    pub fn has_accounts(&self) -> bool {
        !self.book().accounts.is_empty()
    }

    /// Returns an account.
    ///
    /// # Errors
    /// Returns [`AccountRefused::Unknown`] if there is no such account.
    pub fn account(&self, id: &AccountId) -> Result<Account, AccountRefused> {
        self.book().account(id).cloned().ok_or(AccountRefused::Unknown)
    }

    /// Returns all accounts, oldest first.
    pub fn accounts(&self) -> Vec<Account> {
        self.book().accounts.clone()
    }

    /// Lets the commands of active accounts run, each as its user, and sets the limits of people.
    fn tell_tenants(&self) {
        let book = self.book();
        let active = book.accounts.iter().filter(|account| account.is_active);
        self.tenants.set_command_users(active.filter_map(|account| Some((HomeId::from(&account.id), account.uid?))));
        self.tenants.set_active(
            book.accounts.iter().filter(|account| account.is_active).map(|account| HomeId::from(&account.id)),
        );
        self.set_shares();
        let limits = book.accounts.iter().map(|account| (HomeId::from(&account.id), account.admin_limits()));
        self.tenants.set_limits(limits);
    }

    fn book(&self) -> Arc<AccountBook> {
        self.book.borrow().clone()
    }

    /// Changes the accounts: on disk first, then for everybody, on all servers of a cluster. Goes on even if the requester
    /// disconnects.
    ///
    /// # Errors
    /// Returns what `change` returns, and an error if the file cannot be written; nothing is changed then.
    async fn edit<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut AccountBook) -> Result<T, AccountRefused> + Send + 'static,
    ) -> Result<T, PeopleError> {
        let people = self.clone();
        let edited = tokio::spawn(async move {
            let made = people.store(change).await?;
            if let Err(error) = people.look().await {
                tracing::warn!(%error, "the accounts could not be read");
            }
            people.until_all_know().await;
            Ok(made)
        });
        edited.await.map_err(|_| EngineError::Internal("the change of accounts was cut off"))?
    }

    async fn store<T>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut AccountBook) -> Result<T, AccountRefused>,
    ) -> Result<T, PeopleError> {
        let mut stored = self.stored.lock().await;
        let server = self.server().await?;
        let mut book = AccountBook::clone(&self.book());
        if self.followed.is_some() {
            // Another server may have changed them since this one had the home before.
            let home = server.home.clone();
            let read = blocking(move || Ok(home.accounts())).await?;
            let read = read.map_err(|error| match error {
                AccountsUnusable::Store(error) => EngineError::from(error).into(),
                error => {
                    tracing::error!(%error, "the accounts cannot be changed");
                    PeopleError::ChangedOnDisk
                }
            })?;
            (book, *stored) = (read.book, read.etag);
        }
        let made = change(&mut book)?;
        if let Some(uids) = self.uids {
            book.allot_uids(uids);
        }
        let saved = server.tree.save_accounts(server.claim, stored.clone(), &book).await;
        let etag = saved.map_err(|error| match error {
            StoreError::Conflict { .. } => PeopleError::ChangedOnDisk,
            error => EngineError::from(error).into(),
        })?;
        *stored = Some(etag);
        if self.followed.is_none() {
            self.book.send_replace(Arc::new(book));
            self.tell_tenants();
        }
        Ok(made)
    }
}

/// Returns the hash of a random code or token, under which it is stored.
fn hash_of(code: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(code))
}

/// Returns a new id that says nothing about its person.
fn new_opaque_id() -> String {
    clock::new_secret().chars().take(20).collect()
}
