/** provided: data that the subject provided (portability, GDPR art. 20). all: also derived data (access, art. 15). */
export type Basis = 'provided' | 'all'

/** The reader of an export, its basis, and the time up to which records are included. */
export interface ExportReader {
  basis: Basis
  /** The id of the requester in the audit log. */
  id: string
  /** Agents whose private rows it may read: the agent itself, or the agents that a person owns. */
  agents: readonly string[]
  organisationId: string | undefined
  isAdmin: boolean
  /** Whether the export contains private content: false for an admin without a request of the subject. */
  seesPrivate: boolean
  /** Records stored after this time are excluded. */
  until: Date
}
/** Some records, one JSON text per line (RFC 8259 escapes line breaks in strings), without a final line break. */
export interface ExportPage {
  lines: string
  count: number
}
/** Exports one part of the document about an agent. */
export interface Exporter {
  /** Its name in the document: `knowledge_units`, `skills`, `votes` … */
  part: string
  /** The bases on which this part is exported. */
  bases: readonly Basis[]
  /** The tables whose rows it exports. A test reports tables that no exporter covers. */
  tables: readonly string[]
  /**
   * An admin without a request of the subject may read this part, which leaves out private records unless {@link ExportReader.seesPrivate}.
   * Parts without it are private as a whole.
   */
  isShared?: true
  /** Oldest first. It holds no connection between two pages. A consumer that stops early must call `return`. */
  pages(agentId: string, reader: ExportReader): AsyncIterable<ExportPage>
}

/** Exports one part of the document about a person, in addition to the parts about the agents they own. */
export interface PersonExporter extends Omit<Exporter, 'pages'> {
  pages(accountId: string, reader: ExportReader): AsyncIterable<ExportPage>
}
