//! The workloads: what Rust programs do with strings, vectors, maps, boxes and threads.
//!
//! Each is deterministic, down to the order of its allocations: numbers come from a seed, maps hash with fixed keys.
//! (Of two threads, each one's order is.) Each is one function that is never inlined, so that a profiler can tell them
//! apart.

use crate::Workload;
use crate::random::{Random, mixed};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::mpsc;
use std::thread;

/// Every workload, in the order of a run.
pub const WORKLOADS: &[Workload] = &[
    Workload { name: "string building", work: string_building },
    Workload { name: "tokenising", work: tokenising },
    Workload { name: "hash map", work: hash_map },
    Workload { name: "B-tree map", work: b_tree_map },
    Workload { name: "vector growth", work: vector_growth },
    Workload { name: "box tree", work: box_tree },
    Workload { name: "sorting strings", work: sorting_strings },
    Workload { name: "nested clones", work: nested_clones },
    Workload { name: "channel, 2 threads", work: channel },
];

/// A map whose keys are hashed as by default, but the same way in every run.
type Map<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A running checksum, sensitive to order.
struct Checksum(u64);

impl Checksum {
    fn new() -> Self {
        Self(0)
    }

    fn add(&mut self, value: u64) {
        self.0 = mixed(self.0 ^ value);
    }

    /// Adds the length and the ends of a text: enough to notice mixed-up blocks, cheap beside the allocations.
    fn add_text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let first = bytes.first().copied().unwrap_or(0);
        let last = bytes.last().copied().unwrap_or(0);
        self.add((bytes.len() as u64) << 16 | u64::from(first) << 8 | u64::from(last));
    }
}

/// Lines of a report, formatted from parts that are strings themselves, and joined page by page.
#[inline(never)]
fn string_building() -> u64 {
    let mut random = Random::new(1);
    let mut checksum = Checksum::new();
    for page in 0..3_600 {
        let mut lines = Vec::new();
        for number in 0..60 {
            let mut name = String::new();
            random.word(&mut name, 8);
            name.push(' ');
            random.word(&mut name, 24);
            let amount = random.skewed(1_000_000);
            let price = format!("{}.{:02}", amount / 100, amount % 100);
            let mut line = format!("{page}/{number} {name}: {price}");
            if amount.is_multiple_of(4) {
                line = line.to_uppercase();
            }
            if amount.is_multiple_of(8) {
                write!(line, " ({})", name.replace('a', "ae")).expect("strings take everything");
            }
            lines.push(line);
        }
        let text = lines.join("\n");
        checksum.add_text(&text);
        checksum.add_text(&lines[random.below(lines.len())]);
    }
    checksum.0
}

/// A token that owns its text.
enum Token {
    Word(String),
    Number(u64),
    Quoted(Box<str>),
    Mark(char),
}

/// Source text taken apart into statements of tokens, which live as long as the file they came from.
#[inline(never)]
fn tokenising() -> u64 {
    let mut random = Random::new(2);
    let mut checksum = Checksum::new();
    for _ in 0..40 {
        let mut source = String::new();
        for _ in 0..12_000 {
            match random.below(8) {
                0 => write!(source, "{} ", random.skewed(1 << 40)).expect("strings take everything"),
                1 => {
                    source.push('"');
                    random.word(&mut source, 60);
                    source.push_str("\" ");
                }
                2 => source.push_str("; "),
                3 => source.push_str("( "),
                _ => {
                    random.word(&mut source, 14);
                    source.push(' ');
                }
            }
        }
        let statements: Vec<Vec<Token>> =
            source.split(';').map(|statement| statement.split_whitespace().map(token).collect()).collect();
        for token in statements.iter().flatten() {
            match token {
                Token::Word(text) => checksum.add_text(text),
                Token::Number(value) => checksum.add(*value),
                Token::Quoted(text) => checksum.add_text(text),
                Token::Mark(mark) => checksum.add(u64::from(*mark)),
            }
        }
    }
    checksum.0
}

fn token(text: &str) -> Token {
    let first = text.chars().next().expect("pieces between white space are not empty");
    match first {
        '"' => Token::Quoted(text.trim_matches('"').into()),
        '0'..='9' => Token::Number(text.parse().expect("the generator wrote a number")),
        'a'..='z' => Token::Word(text.to_owned()),
        mark => Token::Mark(mark),
    }
}

/// An index from words to the places they occur at, of a text that keeps changing.
#[inline(never)]
fn hash_map() -> u64 {
    let mut random = Random::new(3);
    let mut checksum = Checksum::new();
    let mut index: Map<String, Vec<u32>> = Map::default();
    for place in 0..300_000 {
        // From a vocabulary, so that words recur; the likelier the word, the longer its list.
        let number = random.skewed(60_000);
        let key = format!("{:x}-{number}", mixed(number as u64) >> (number % 48));
        if place % 5 == 4 {
            if let Some(places) = index.remove(&key) {
                checksum.add(places.len() as u64);
            }
        } else {
            index.entry(key).or_default().push(place);
        }
        if place % 20_000 == 19_999 {
            // The order of iteration is no part of the result.
            let all: usize = index.values().map(Vec::len).sum();
            let letters: usize = index.keys().map(String::len).sum();
            checksum.add((all * letters) as u64);
            index.retain(|_, places| places.len() < 40);
        }
    }
    checksum.add(index.len() as u64);
    checksum.0
}

/// A table ordered by key, with range queries, replacements and removals from both ends.
#[inline(never)]
fn b_tree_map() -> u64 {
    let mut random = Random::new(4);
    let mut checksum = Checksum::new();
    let mut table: BTreeMap<u64, String> = BTreeMap::new();
    for _ in 0..100_000 {
        let key = random.next() >> 40;
        let mut value = String::with_capacity(8 + random.skewed(100));
        random.word(&mut value, 8);
        table.insert(key, value);
        if table.len() > 20_000 {
            let end = if key.is_multiple_of(2) { table.pop_first() } else { table.pop_last() };
            checksum.add(end.map_or(0, |(key, _)| key));
        }
        if key.is_multiple_of(64) {
            let found: Vec<String> = table.range(key..).take(12).map(|(_, value)| value.clone()).collect();
            found.iter().for_each(|value| checksum.add_text(value));
        }
        if key.is_multiple_of(1024) {
            let above = table.split_off(&(key / 2 + (1 << 22)));
            checksum.add(above.len() as u64);
            table.extend(above.into_iter().filter(|(key, _)| key % 3 != 0));
        }
    }
    checksum.add(table.len() as u64);
    checksum.0
}

/// Vectors grown by one element at a time, most of them small, some large, many alive at once.
#[inline(never)]
fn vector_growth() -> u64 {
    let mut random = Random::new(5);
    let mut checksum = Checksum::new();
    let mut lists: Vec<Vec<u64>> = (0..2_000).map(|_| Vec::new()).collect();
    for round in 0..270_000 {
        let slot = random.below(lists.len());
        let list = &mut lists[slot];
        if list.len() > 400 || round % 16 == 0 {
            checksum.add(list.iter().sum());
            *list = Vec::new();
        }
        for value in 0..random.skewed(200) {
            list.push(value as u64);
        }
        if round % 3_000 == 0 {
            let mut large = Vec::new();
            for value in 0..100_000 + random.below(200_000) as u64 {
                large.push(value);
            }
            checksum.add(large[large.len() / 2]);
        }
    }
    checksum.add(lists.iter().map(|list| list.len() as u64).sum());
    checksum.0
}

/// A node of a binary search tree that is not balanced; random keys keep it shallow.
struct Node {
    key: u64,
    count: u32,
    less: Option<Box<Node>>,
    more: Option<Box<Node>>,
}

impl Node {
    fn insert(tree: &mut Option<Box<Node>>, key: u64) {
        let mut place = tree;
        while let Some(node) = place {
            node.count += 1;
            place = if key < node.key { &mut node.less } else { &mut node.more };
        }
        *place = Some(Box::new(Node { key, count: 1, less: None, more: None }));
    }

    /// Takes the node with the smallest key out.
    fn remove_first(tree: &mut Option<Box<Node>>) -> Option<u64> {
        let mut place = tree;
        while place.as_ref()?.less.is_some() {
            let node = place.as_mut()?;
            node.count -= 1;
            place = &mut node.less;
        }
        let first = place.take()?;
        *place = first.more;
        Some(first.key)
    }

    fn depth(tree: &Option<Box<Node>>) -> u64 {
        tree.as_ref().map_or(0, |node| 1 + Self::depth(&node.less).max(Self::depth(&node.more)))
    }
}

/// Trees of boxed nodes, grown, walked, taken apart node by node, and dropped whole.
#[inline(never)]
fn box_tree() -> u64 {
    let mut random = Random::new(6);
    let mut checksum = Checksum::new();
    for size in (0..200).map(|step| 600 + step * 20) {
        let mut tree = None;
        for _ in 0..size {
            Node::insert(&mut tree, random.next());
        }
        checksum.add(Node::depth(&tree));
        for _ in 0..size / 2 {
            checksum.add(Node::remove_first(&mut tree).unwrap_or(0));
            Node::insert(&mut tree, random.next());
        }
        checksum.add(tree.map_or(0, |root| u64::from(root.count)));
    }
    checksum.0
}

/// Lists of names, sorted, without duplicates, by several keys.
#[inline(never)]
fn sorting_strings() -> u64 {
    let mut random = Random::new(7);
    let mut checksum = Checksum::new();
    for _ in 0..20 {
        let mut names: Vec<String> = (0..4_000)
            .map(|_| {
                let mut name = String::new();
                random.word(&mut name, 4);
                name.push('-');
                random.word(&mut name, 30);
                name
            })
            .collect();
        names.sort();
        names.dedup_by(|one, other| one.chars().next() == other.chars().next() && one.len() == other.len());
        checksum.add(names.len() as u64);
        names.sort_by_cached_key(|name| name.chars().rev().collect::<String>());
        let mut copies = names.clone();
        copies.extend(names.iter().map(|name| name.to_uppercase()));
        copies.sort_unstable();
        let halves: Vec<&str> = copies.iter().flat_map(|name| name.split('-')).collect();
        checksum.add_text(&halves.concat());
    }
    checksum.0
}

/// A document as a program would have read it from JSON.
#[derive(Clone)]
struct Document {
    title: String,
    tags: Vec<String>,
    properties: Map<String, Property>,
    sections: Vec<Section>,
}

#[derive(Clone)]
enum Property {
    Flag(bool),
    Text(String),
    List(Vec<Property>),
}

#[derive(Clone)]
struct Section {
    heading: String,
    paragraphs: Vec<String>,
    inner: Vec<Section>,
}

impl Section {
    fn new(random: &mut Random, depth: usize) -> Self {
        let mut heading = String::new();
        random.word(&mut heading, 20);
        let paragraphs = (0..random.below(4)).map(|_| text(random, 300)).collect();
        let children = if depth == 0 { 0 } else { random.below(4) };
        let inner = (0..children).map(|_| Self::new(random, depth - 1)).collect();
        Self { heading, paragraphs, inner }
    }

    fn letters(&self) -> usize {
        let own = self.heading.len() + self.paragraphs.iter().map(String::len).sum::<usize>();
        own + self.inner.iter().map(Self::letters).sum::<usize>()
    }
}

impl Property {
    fn new(random: &mut Random, depth: usize) -> Self {
        match random.below(4) {
            0 => Self::Flag(random.below(2) == 0),
            1 if depth > 0 => Self::List((0..random.below(6)).map(|_| Self::new(random, depth - 1)).collect()),
            _ => Self::Text(text(random, 40)),
        }
    }

    fn letters(&self) -> usize {
        match self {
            Self::Flag(flag) => usize::from(*flag),
            Self::Text(text) => text.len(),
            Self::List(list) => list.iter().map(Self::letters).sum(),
        }
    }
}

impl Document {
    fn new(random: &mut Random) -> Self {
        Self {
            title: text(random, 50),
            tags: (0..random.below(8)).map(|_| text(random, 10)).collect(),
            properties: (0..random.below(12)).map(|_| (text(random, 12), Property::new(random, 2))).collect(),
            sections: (0..random.below(5)).map(|_| Section::new(random, 3)).collect(),
        }
    }

    fn letters(&self) -> usize {
        let short = self.title.len() + self.tags.iter().map(String::len).sum::<usize>();
        let properties: usize = self.properties.iter().map(|(name, property)| name.len() + property.letters()).sum();
        short + properties + self.sections.iter().map(Section::letters).sum::<usize>()
    }
}

/// Up to `most` letters and at least one, of one kind: what the text says matters less here than that it is a block.
fn text(random: &mut Random, most: usize) -> String {
    char::from(b'a' + random.below(26) as u8).to_string().repeat(1 + random.skewed(most))
}

/// A store of documents and their earlier versions: cloned, edited, and dropped, the oldest first.
#[inline(never)]
fn nested_clones() -> u64 {
    let mut random = Random::new(8);
    let mut checksum = Checksum::new();
    let mut store: Vec<Document> = (0..300).map(|_| Document::new(&mut random)).collect();
    for edit in 0..8_000 {
        let slot = random.below(store.len());
        let mut copy = store[slot].clone();
        copy.title.push_str(" (copy)");
        copy.title.truncate(80);
        copy.tags.push(text(&mut random, 10));
        copy.tags.truncate(12);
        copy.properties.insert(text(&mut random, 3), Property::new(&mut random, 1));
        if edit % 4 == 0 {
            copy = Document::new(&mut random);
        }
        checksum.add(copy.letters() as u64);
        let older = random.below(store.len());
        store[older] = copy;
    }
    checksum.0
}

/// What one thread hands to the other.
struct Message {
    number: u64,
    body: String,
    parts: Vec<Box<[u8]>>,
}

/// One thread makes boxed messages and the other takes them apart, with a queue of bounded length between them.
#[inline(never)]
fn channel() -> u64 {
    let (sender, receiver) = mpsc::sync_channel::<Box<Message>>(256);
    let consumer = thread::spawn(move || {
        let mut checksum = Checksum::new();
        let mut recent: BTreeMap<u64, Box<Message>> = BTreeMap::new();
        for message in receiver {
            checksum.add_text(&message.body);
            checksum.add(message.parts.iter().map(|part| part.len() as u64).sum());
            recent.insert(message.number, message);
            if recent.len() > 500 {
                recent.pop_first();
            }
        }
        checksum.add(recent.len() as u64);
        checksum.0
    });
    let mut random = Random::new(9);
    for number in 0..80_000 {
        let mut body = format!("message {number}: ");
        random.word(&mut body, 20);
        let parts = (0..random.below(6)).map(|_| vec![number as u8; random.skewed(600)].into_boxed_slice()).collect();
        sender.send(Box::new(Message { number, body, parts })).expect("the consumer takes messages until the last");
    }
    drop(sender);
    consumer.join().expect("the consumer does not panic")
}
