//! A cluster with more insights than the ConfigMap or the UpdateStatus can hold.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windtunnel_update_status::controller::{self, Note, Observer, Parts, snapshot};
use windtunnel_update_status::status::Details;
use windtunnel_update_status::status::published::sections_on_nodes;

use super::cluster::{Cluster, pass};

#[derive(Default)]
struct Failures(Mutex<Vec<String>>);

impl Observer for Failures {
    fn note(&self, note: Note<'_>) {
        if let Note::Failed { why } = note {
            self.0.lock().unwrap().push(why.to_owned());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_nodes_of_a_pool_of_5000_are_counted_and_no_write_fails() {
    let cluster = Cluster::new(true).await;
    cluster.create_config_map().await;
    for number in 0..5000 {
        cluster.node(&format!("n{number:04}"), "worker", true).await;
    }
    let failures = Arc::new(Failures::default());
    let (client, clock, observer) = (cluster.client.clone(), cluster.clock.clone(), failures.clone());
    tokio::spawn(controller::run(Parts { client, clock, alerts: None, observer }));
    pass(10).await;
    assert_eq!(failures.0.lock().unwrap()[..], [""; 0]);
    let status = cluster.status().await;
    let complete = &status["conditions"][1];
    assert_eq!([&complete["type"], &complete["status"]], ["Complete", "False"], "{complete}");
    let (config_map, update_status) =
        (json!({"data": cluster.config_map().await}), json!({"status": status}));
    for home in [[Some(&config_map), None], [None, Some(&update_status)]] {
        let insights = snapshot::published_insights(home[0], home[1]).unwrap();
        assert!((300..5000).contains(&insights.len()), "{} insights", insights.len());
        let text = sections_on_nodes(insights.values(), Details::None);
        assert!(text.contains("\nworker        Pending      0% (0/5000)   5000 Available, "), "{text}");
    }
}
