-- Health of an Application, for the wave that it is part of: a verdict of an older revision is no verdict. Argo CD gives
-- scripts no string library, and its os.date(format, time) knows only local time (argo-cd v3.2.12, util/lua/lua.go and
-- oslib_safe.go): times are compared as texts, as RFC 3339 in UTC sorts by time.
local os = require("os")
local labels, annotations = obj.metadata.labels or {}, obj.metadata.annotations or {}
if labels["app.kubernetes.io/managed-by"] ~= "foresite" then
  return {status = "Healthy", message = ""} -- of others: as without this rule
end
if labels["foresite.dev/waited-for"] == "false" then
  return {status = "Healthy", message = "no ring waits for it"}
end

local function waits(message)
  return {status = "Progressing", message = message}
end
local function text(value)
  return value ~= nil and value ~= "" and ": " .. value or ""
end
local wanted, status = (obj.spec or {}).source or {}, obj.status or {}
local function is_wanted(source)
  return source ~= nil and source.repoURL == wanted.repoURL and source.path == wanted.path
    and source.targetRevision == wanted.targetRevision
end
-- True if more than the minutes of an annotation have passed since a time.
local function is_past(since, annotation)
  local minutes = tonumber(annotations[annotation])
  if since == nil or minutes == nil then return false end
  local now = os.date("!*t")
  local limit = os.time({year = now.year, month = now.month, day = now.day, hour = now.hour, min = now.min - minutes, sec = now.sec})
  return since < os.date("%Y-%m-%dT%H:%M:%SZ", limit)
end

local sync = status.sync or {}
if obj.metadata.deletionTimestamp ~= nil then return waits("it is being deleted") end
if not is_wanted((sync.comparedTo or {}).source) then return waits("not yet compared with this revision") end
if obj.operation ~= nil then return waits("a sync begins") end
local operation, since = status.operationState or {}, nil
local ran = operation.syncResult or ((operation.operation or {}).sync)
if ran ~= nil and is_wanted(ran.source) then -- else it was of an older revision
  if operation.phase == "Failed" or operation.phase == "Error" then
    return {status = "Degraded", message = "the sync failed" .. text(operation.message)}
  end
  if operation.phase ~= "Succeeded" then return waits("a sync runs" .. text(operation.message)) end
  since = operation.finishedAt
end
-- Objects that left Git stay, as nothing is pruned: they alone hold no ring.
local synced = sync.status == "Synced"
if sync.status == "OutOfSync" and status.resources ~= nil then
  synced = true
  for _, each in ipairs(status.resources) do
    if each.status ~= "Synced" and each.status ~= nil and not each.requiresPruning then synced = false end
  end
end
if not synced and since == nil then return waits("not synced" .. text(sync.status)) end

local health = status.health or {}
if since == nil or (health.lastTransitionTime ~= nil and health.lastTransitionTime > since) then
  since = health.lastTransitionTime
end
-- What is not well yet ends the wait once it is late: then Argo CD takes a new commit by itself.
local function unwell(message)
  if is_past(since, "foresite.dev/late-minutes") then
    return {status = "Degraded", message = "late" .. text(message)}
  end
  return waits(message)
end
if not synced then return unwell("not synced" .. text(sync.status)) end
for _, each in ipairs(status.conditions or {}) do
  if each.type == "ComparisonError" or each.type == "InvalidSpecError" or each.type == "SyncError" or each.type == "UnknownError" then
    return unwell(each.type .. text(each.message))
  end
end
-- On a site's own cluster one of hundreds of nodes is always out, and its DaemonSets never end.
local enough = health.status == "Healthy" or (labels["foresite.dev/target"] == "site" and health.status == "Progressing")
if not enough then return unwell("its objects are not healthy" .. text(health.status)) end
if annotations["foresite.dev/soak-minutes"] ~= nil and since ~= nil and not is_past(since, "foresite.dev/soak-minutes") then
  return waits("healthy, and stays so for " .. annotations["foresite.dev/soak-minutes"] .. " minutes")
end
return {status = "Healthy", message = ""}
