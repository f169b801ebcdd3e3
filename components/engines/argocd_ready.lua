-- Health of providers of Cluster API (operator v0.28.0) and of Ironic (operator v0.9.0), whose condition alone says the
-- generation that it is of: Ready, and of this one.
local status, ready, seen = obj.status or {}, false, nil
for _, each in ipairs(status.conditions or {}) do
  if each.type == "Ready" then ready, seen = each.status == "True", each.observedGeneration end
end
if obj.metadata.deletionTimestamp ~= nil or not ready or (status.observedGeneration or seen) ~= obj.metadata.generation then
  return {status = "Progressing", message = "it is not ready at this generation"}
end
return {status = "Healthy", message = ""}
