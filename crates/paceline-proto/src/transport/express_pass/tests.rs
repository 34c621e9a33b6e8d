mod bounds;
mod network;
mod recovery;
mod reference;
