import { agentExport, type ExportPorts } from './export.ts'
import { documentImport, type ImportPorts } from './import.ts'

/** Gives out what is held on an agent, and takes in such a document of another registry. */
export const exportsService = (ports: ExportPorts & ImportPorts) => ({
  exportAgent: agentExport(ports),
  importDocument: documentImport(ports),
})
