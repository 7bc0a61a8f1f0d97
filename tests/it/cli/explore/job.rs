//! The Job that explores on a cluster: an API server accepts it, and the program accepts its arguments.

use std::fs;
use std::path::Path;

use serde_json::Value;
use windtunnel_apiserver::ApiServer;
use windtunnel_core::{Identity, Resource, Write, yaml};

use super::super::environment::TestEnvironment;

const JOBS: Resource = Resource::namespaced("batch", "v1", "Job", "jobs");
const CLAIMS: Resource = Resource::namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");

fn objects() -> [Value; 2] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/jobs/exploration.yaml");
    let objects: Vec<Value> = yaml::from_str_multi(&fs::read_to_string(path).unwrap()).unwrap();
    objects.try_into().unwrap()
}

#[test]
fn an_api_server_accepts_the_job() {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut server = ApiServer::builder().seed(1).build(now);
    for (object, resource) in objects().into_iter().zip([&CLAIMS, &JOBS]) {
        let mut object = object;
        object["metadata"]["namespace"] = "default".into();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        server.write(&Write::create(resource, object.clone()), &Identity::admin(), now).unwrap();
        let stored = server.object(resource, "default", &name).unwrap();
        assert_eq!(stored["spec"]["completionMode"], object["spec"]["completionMode"]);
    }
}

#[test]
fn the_program_accepts_the_arguments_of_the_job() {
    let [_, job] = objects();
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"][0]["value"], job["spec"]["completions"].to_string());
    let variables = [("$(JOB_COMPLETION_INDEX)", "1"), ("$(SHARDS)", "4"), ("/results", "results")];
    let filled =
        |text: &str| variables.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
    let mut arguments: Vec<String> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| filled(argument.as_str().unwrap()))
        .collect();
    // A run is enough.
    arguments.push("--runs=1".to_owned());
    let environment = TestEnvironment::new();
    // The volume of the Job.
    fs::create_dir(environment.work().join("results")).unwrap();
    let output = environment.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(matches!(output.code, Some(0 | 1)), "{output}");
    let files = environment.files();
    for file in ["results/corpus/state-2-of-4.json", "results/explored-1.html"] {
        assert!(files.contains(&file.to_owned()), "{files:?}");
    }
}
