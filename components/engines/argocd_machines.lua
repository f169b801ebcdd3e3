-- Health of a MachineDeployment and a KubeadmControlPlane (Cluster API v1.13.6, v1beta2). Argo CD's own rule calls a
-- MachineDeployment healthy as soon as it has enough Machines, of whatever template (resource_customizations, v3.5.1).
local function waits(message)
  return {status = "Progressing", message = message}
end
local spec, status = obj.spec or {}, obj.status or {}
local conditions = {}
for _, each in ipairs(status.conditions or {}) do conditions[each.type] = each end
local function is_true(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end
if obj.metadata.deletionTimestamp ~= nil then return waits("it is being deleted") end
if spec.paused or is_true("Paused") then return {status = "Suspended", message = "paused"} end
if status.observedGeneration ~= obj.metadata.generation then return waits("its controller has not seen it yet") end
if spec.replicas == nil or status.replicas ~= spec.replicas then return waits("it has not as many Machines as it wants") end

-- Machines that roll OnDelete stay as they are until somebody deletes them.
local strategy = (spec.rollout or {}).strategy or {}
if strategy.type ~= "OnDelete" then
  -- updatedReplicas is written with observedGeneration, from the template that was just compared. upToDateReplicas and
  -- RollingOut follow conditions of Machines, and show what was until these are written (machinedeployment_sync.go,
  -- calculateV1Beta1Status; machinedeployment_status.go, setRollingOutCondition).
  local compared = ((status.deprecated or {}).v1beta1 or {}).updatedReplicas
  if compared ~= nil and compared ~= spec.replicas then return waits("Machines are of an older template") end
  if status.upToDateReplicas ~= spec.replicas then return waits("Machines are not up to date") end
  if conditions.RollingOut == nil or conditions.RollingOut.status ~= "False" then return waits("it rolls out") end
end
-- Available allows as many to be missing as a rollout takes out, which may be all: half of them must be there.
if not is_true("Available") then return waits("too few Machines are available") end
if (status.availableReplicas or 0) * 2 < spec.replicas then return waits("less than half of the Machines are available") end
return {status = "Healthy", message = ""}
