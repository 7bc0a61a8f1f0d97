//! Ports of a container, and the ports of this machine on which its program listens instead.

use std::collections::BTreeMap;
use std::net::TcpListener;

/// The ports that have a port of this machine of their own, by their numbers in the container.
#[derive(Debug, Clone, Default)]
pub(super) struct Ports(BTreeMap<u16, u16>);

impl Ports {
    /// Replaces each `{port:NUMBER}` by a free port of this machine, the same for the same number.
    pub(super) fn fill(&mut self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{port:") {
            filled.push_str(before);
            let found = after.split_once('}').and_then(|(port, after)| Some((port.parse().ok()?, after)));
            match found.and_then(|(port, after)| Some((self.port(port)?, after))) {
                Some((port, after)) => {
                    filled.push_str(&port.to_string());
                    rest = after;
                }
                None => {
                    filled.push_str("{port:");
                    rest = after;
                }
            }
        }
        filled + rest
    }

    /// The port of this machine for a port of the container.
    pub(super) fn of_machine(&self, port: u16) -> u16 {
        self.0.get(&port).copied().unwrap_or(port)
    }

    fn port(&mut self, port: u16) -> Option<u16> {
        if let Some(known) = self.0.get(&port) {
            return Some(*known);
        }
        let free = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        self.0.insert(port, free);
        Some(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_a_container_has_one_port_of_the_machine() {
        let mut ports = Ports::default();
        let filled = ports.fill("--health=:{port:8081} --again=:{port:8081} {port:x} {port:");
        let free = ports.of_machine(8081);
        assert_eq!(filled, format!("--health=:{free} --again=:{free} {{port:x}} {{port:"));
        assert_ne!(free, 8081);
        assert_eq!(ports.of_machine(9099), 9099);
    }
}
