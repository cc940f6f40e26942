import { agentExport, type ExportPorts } from './export.ts'
import { documentImport, type ImportPorts } from './import.ts'
import { type InventoryPorts, inventory } from './inventory.ts'
import { type PreparedPorts, preparedExports } from './prepared.ts'

/** Gives out what is held on an agent or a person, says what that is, and takes in such a document of another registry. */
export const exportsService = (ports: ExportPorts & ImportPorts & InventoryPorts & PreparedPorts) => ({
  exportAgent: agentExport(ports),
  importDocument: documentImport(ports),
  readInventory: inventory(ports),
  ...preparedExports(ports),
})
