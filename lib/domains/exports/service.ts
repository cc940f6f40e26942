import { copyProblemList } from './copy-problems.ts'
import { agentExport, type ExportPorts } from './export.ts'
import { documentImport } from './import.ts'
import type { ImportPorts } from './import-run.ts'
import { type InventoryPorts, inventory } from './inventory.ts'
import { preparedExports } from './own-exports.ts'
import type { PreparedPorts } from './prepared.ts'

/** Use cases that export an agent or a person, list what is stored about them, and import a document of another registry. */
export const exportsService = (ports: ExportPorts & ImportPorts & InventoryPorts & PreparedPorts) => ({
  exportAgent: agentExport(ports),
  importDocument: documentImport(ports),
  readInventory: inventory(ports),
  ...preparedExports(ports),
  listCopyProblems: copyProblemList(ports),
})
