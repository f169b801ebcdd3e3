// Loaded before the language server: it ends at the first attempt to reach any other machine.
require("net").Socket.prototype.connect = () => {
  console.error("the language server wants the network");
  process.exit(70);
};
