//! The verb `create`.

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;

use super::validation::{self, Validation};
use crate::admission::Attributes;
use crate::call::Call;
use crate::call::decode;
use crate::call::prepared::Write;
use crate::kinds::{Generation, strategy};
use crate::metadata;
use crate::profile::{Profile, since};
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::request::{Method, options};
use crate::schema::default;
use crate::server::ApiServer;
use crate::server::change::Change;
use crate::server::definitions::lifecycle;
use crate::store::{FieldOwners, Stored};
use crate::verbs::prepared;

/// The longest prefix of a generated name, in bytes: 63 minus the suffix of five letters.
const PREFIX_LIMIT: usize = 58;
/// How many generated names the server tries (`maxNameGenerationCreateAttempts`).
const NAMES_TRIED: usize = 8;

impl ApiServer {
    pub(crate) fn create(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        check_creatable(call)?;
        let body = decode::body(call)?;
        let object = decode::object(call, body, &self.profile)?;
        self.create_object(call, object)
    }

    /// Creates a decoded object. Updates and applies of missing objects end here too.
    pub(super) fn create_object(&mut self, call: &mut Call<'_>, mut object: Value) -> Outcome<Reply> {
        let owners = self.mutate_new(call, &mut object)?;
        self.complete_new(call, &mut object)?;
        let options = options::for_admission(call.request, "CreateOptions");
        let (name, namespace) = (metadata::text(&object, "name"), metadata::text(&object, "namespace"));
        let attributes = Attributes::create(name, namespace, &options);
        self.check_admission(call, attributes, Some((&object, owners.entries.as_deref())))?;
        strategy::complete_create(&call.kind, &mut object);
        self.store_new(call, object, owners)
    }

    /// Runs mutating admission for a new object, and returns the owners of its fields.
    fn mutate_new(&mut self, call: &mut Call<'_>, object: &mut Value) -> Outcome<FieldOwners> {
        validation::match_namespace(call, object)?;
        let mut owners = self.owners(call, object, None);
        check_definition(call, object, &self.profile)?;
        let name = metadata::text(object, "name").to_owned();
        let namespace = call.path.namespace.clone();
        let options = options::for_admission(call.request, "CreateOptions");
        let attributes = Attributes::create(&name, &namespace, &options);
        self.admit_owned(call, attributes, object, &mut owners)?;
        self.check_escalation(call, object, None)?;
        Ok(owners)
    }

    /// Sets the fields of a new object that the server decides, and validates the object by the rules of its kind.
    fn complete_new(&mut self, call: &mut Call<'_>, object: &mut Value) -> Outcome<()> {
        let kind = Arc::clone(&call.kind);
        let namespace = metadata::text(object, "namespace").to_owned();
        self.make_name(call, object, &namespace);
        call.new_name = Some(metadata::text(object, "name").to_owned());
        self.begin_metadata(call, object);
        if kind.custom.is_none() {
            call.warnings.extend(strategy::copy_annotations(&kind, object));
            let context = strategy::Context {
                minor: self.profile.minor,
                now: call.now,
                user: call.request.user,
                shares_labels: call.shares_labels,
            };
            strategy::prepare_create(&kind, object, context);
        } else if kind.rules.status {
            strategy::copy_field(object, &Value::Null, "status");
        }
        if kind.table == self.tables.definitions {
            lifecycle::prepare_create(object, &self.profile);
        }
        // A status write that creates an object bypasses the hooks of creation.
        if call.path.subresource.is_empty() {
            self.allocations.allocate(&kind, object, None, &self.store, &self.profile, call.dry_run)?;
        }
        let earlier = self.check_admin_access(call, object, None);
        let rules =
            Validation { profile: &self.profile, draws: &mut self.draws, empties: &call.empties, earlier };
        validation::validate_new(&kind, object, rules)?;
        if let Some(custom) = &kind.custom {
            default::fill(object, &custom.version.schema);
        }
        call.warnings.extend(validation::warnings(&kind, object, None, &self.profile));
        Ok(())
    }

    /// Stores a new object, and updates what the server derives from objects of its kind.
    pub(super) fn store_new(
        &mut self,
        call: &mut Call<'_>,
        mut object: Value,
        owners: FieldOwners,
    ) -> Outcome<Reply> {
        if call.attempt.is_ahead() {
            return Err(self.stop_prepared(call, Write::New { object, owners }));
        }
        let kind = Arc::clone(&call.kind);
        if !call.dry_run {
            check_version(call, &object)?;
            metadata::remove_unstored(&mut object);
        }
        let key = kind.key(metadata::text(&object, "namespace"), metadata::text(&object, "name"));
        if let Some(existing) = self.store.get(kind.table, &key.namespace, &key.name) {
            // Etcd checks the size of a request before it compares keys.
            if !call.dry_run {
                prepared::check_size(call, &key, &object, &owners)?;
            }
            let generated = !metadata::text(&object, "generateName").is_empty();
            let mut rejection = if generated {
                BoxedRejection::no_unique_name(&kind.resource, &key.name)
            } else {
                BoxedRejection::already_exists(&kind.resource, &key.name)
            };
            if metadata::is_terminating(&existing.served()) {
                rejection.message = format!("object is being deleted: {}", rejection.message);
            }
            call.refused_new = Some(object);
            return Err(rejection);
        }
        if call.dry_run {
            return Ok(Reply::object(201, kind.served_form(&Stored::new(object, owners.entries))));
        }
        let object = self.convert_for_storage(call, object, owners.entries.as_deref())?;
        prepared::check_size(call, &key, &object, &owners)?;
        let stored = self.store.put(kind.table, &key, kind.epoch(), object, owners);
        let reply = kind.serve_stored(&stored);
        call.after = Some(if kind.custom.is_none() { stored } else { reply.clone() });
        self.follow(&Change { kind: &kind, key: &key, old: None, now: call.now });
        Ok(Reply::object(201, reply))
    }

    /// Generates a name from `generateName`. If an object has that name already, later minors generate another one.
    fn make_name(&mut self, call: &mut Call<'_>, object: &mut Value, namespace: &str) {
        let prefix = metadata::text(object, "generateName").to_owned();
        if !metadata::text(object, "name").is_empty() || prefix.is_empty() {
            return;
        }
        let mut length = prefix.len().min(PREFIX_LIMIT);
        while !prefix.is_char_boundary(length) {
            length -= 1;
        }
        let tries = if self.profile.minor >= since::GENERATED_NAMES_RETRIED { NAMES_TRIED } else { 1 };
        let mut name = String::new();
        for _ in 0..tries {
            let drawn = call.attempt.names.pop();
            name = match drawn {
                Some(drawn) => drawn,
                None => {
                    let suffix = self.draws.name_suffix(&call.kind.resource, namespace, &prefix[..length]);
                    format!("{}{suffix}", &prefix[..length])
                }
            };
            if self.store.get(call.kind.table, namespace, &name).is_none() {
                break;
            }
        }
        metadata::metadata_mut(object).insert("name".to_owned(), json!(name));
        call.attempt.names.push(name);
    }

    /// Sets the metadata of a new object that clients cannot choose, and removes what they must not set.
    fn begin_metadata(&mut self, call: &mut Call<'_>, object: &mut Value) {
        let uid = call.attempt.uid.get_or_insert_with(|| self.draws.uid()).clone();
        let counts =
            !matches!(call.kind.rules.generation, Generation::None | Generation::SpecificationFromZero);
        let metadata = metadata::metadata_mut(object);
        // Updates and applies that create an object keep these.
        if call.request.method == Method::Post {
            for field in ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"] {
                metadata.remove(field);
            }
        }
        metadata.insert("uid".to_owned(), json!(uid));
        metadata.insert("creationTimestamp".to_owned(), json!(rfc3339(call.now)));
        if counts {
            metadata.insert("generation".to_owned(), json!(1));
        }
    }
}

/// Rejects a new object of a definition that is terminating.
fn check_definition(call: &Call<'_>, object: &Value, profile: &Profile) -> Outcome<()> {
    if !call.kind.custom.as_ref().is_some_and(|custom| custom.family.terminating) {
        return Ok(());
    }
    let why = "create not allowed while custom resource definition is terminating";
    let name = match metadata::text(object, "name") {
        "" => metadata::text(object, "generateName"),
        name => name,
    };
    Err(if profile.minor < since::TERMINATING_FORBIDS {
        BoxedRejection::not_supported_because(&call.kind.resource, why)
    } else {
        BoxedRejection::forbidden(&call.kind.resource, name, why)
    })
}

/// Rejects a new object with a resource version. The storage does so, which ignores versions that are no numbers.
fn check_version(call: &Call<'_>, object: &Value) -> Outcome<()> {
    let version = options::version(metadata::text(object, "resourceVersion"));
    if call.request.method == Method::Post && matches!(version, Ok(Some(1..))) {
        return Err(BoxedRejection::internal("resourceVersion should not be set on objects to be created"));
    }
    Ok(())
}

fn check_creatable(call: &Call<'_>) -> Outcome<()> {
    let resource = &call.kind.resource;
    if !call.path.subresource.is_empty() {
        call.check_subresource()?;
        return Err(if call.kind.custom.is_some() {
            BoxedRejection::not_supported(resource, "create")
        } else {
            BoxedRejection::method_not_allowed()
        });
    }
    if !call.path.name.is_empty() || resource.namespaced && !call.has_matching_scope() {
        return Err(BoxedRejection::method_not_allowed());
    }
    Ok(())
}
