import type { Command } from 'commander'
import type { CommandSession } from './session.ts'

/** Adds commands to the program. `begin` opens the session of a command. */
type AddCommands = (program: Command, begin: (url?: string) => CommandSession) => void

export interface CommandFile {
  /** The heading in the overview. */
  group: string
  /** The first words of its commands. */
  names: readonly string[]
  load(): Promise<AddCommands>
}

const you = 'Who you are:'
const agents = 'Your agents:'
const knowledge = 'Knowledge:'
const skills = 'Skills:'
const data = 'Your data:'
const tokens = 'Tokens and the audit log:'
const admins = 'For admins:'
const machine = 'On the machine of the installation:'

/** Every command with its file, in the order of the overview. A run loads only the files that it needs. */
export const commandFiles: readonly CommandFile[] = [
  {
    group: you,
    names: ['register', 'login', 'me', 'logout'],
    load: async () => (await import('./account.ts')).accountCommands,
  },
  { group: you, names: ['consent'], load: async () => (await import('./consent.ts')).consentCommands },
  { group: you, names: ['account'], load: async () => (await import('./people.ts')).peopleCommands },
  { group: agents, names: ['agent'], load: async () => (await import('./agents.ts')).agentCommands },
  { group: agents, names: ['grimoire'], load: async () => (await import('./grimoire.ts')).grimoireCommands },
  { group: agents, names: ['clade'], load: async () => (await import('./clade.ts')).cladeCommands },
  { group: agents, names: ['snapshot'], load: async () => (await import('./snapshots.ts')).snapshotCommands },
  { group: agents, names: ['mcp'], load: async () => (await import('./mcp.ts')).mcpCommands },
  { group: agents, names: ['model-log'], load: async () => (await import('./model-log.ts')).modelLogCommands },
  { group: knowledge, names: ['search'], load: async () => (await import('./search.ts')).searchCommands },
  { group: knowledge, names: ['get', 'vote'], load: async () => (await import('./knowledge.ts')).knowledgeCommands },
  { group: knowledge, names: ['validate'], load: async () => (await import('./validating.ts')).validatingCommands },
  { group: knowledge, names: ['pii'], load: async () => (await import('./pii.ts')).piiCommands },
  {
    group: knowledge,
    names: ['contribute'],
    load: async () => (await import('./contribution.ts')).contributingCommands,
  },
  { group: knowledge, names: ['delete'], load: async () => (await import('./erasing.ts')).erasingCommands },
  { group: knowledge, names: ['sop'], load: async () => (await import('./sops.ts')).sopCommands },
  { group: knowledge, names: ['reputation'], load: async () => (await import('./reputation.ts')).reputationCommands },
  { group: skills, names: ['skills', 'install'], load: async () => (await import('./skills.ts')).skillCommands },
  { group: skills, names: ['tombstones'], load: async () => (await import('./tombstones.ts')).tombstoneCommands },
  { group: data, names: ['find', 'orphans'], load: async () => (await import('./find.ts')).findCommands },
  { group: data, names: ['export'], load: async () => (await import('./exports.ts')).exportCommands },
  { group: data, names: ['import'], load: async () => (await import('./imports.ts')).importCommands },
  { group: data, names: ['privacy'], load: async () => (await import('./privacy.ts')).privacyCommands },
  { group: 'Receipts:', names: ['receipts'], load: async () => (await import('./receipts.ts')).receiptCommands },
  { group: tokens, names: ['tokens'], load: async () => (await import('./tokens.ts')).tokenCommands },
  { group: tokens, names: ['audit'], load: async () => (await import('./audit.ts')).auditCommands },
  { group: admins, names: ['retention'], load: async () => (await import('./retention.ts')).retentionCommands },
  { group: admins, names: ['holds'], load: async () => (await import('./holds.ts')).holdCommands },
  { group: machine, names: ['start'], load: async () => (await import('./starting.ts')).startingCommands },
  { group: machine, names: ['admin'], load: async () => (await import('./admin.ts')).adminCommands },
  { group: machine, names: ['keys'], load: async () => (await import('./keys.ts')).keyCommands },
  { group: machine, names: ['erasures'], load: async () => (await import('./erasures.ts')).erasureCommands },
  {
    group: machine,
    names: ['backup', 'restore', 'backup-key', 'move-files'],
    load: async () => (await import('./backups.ts')).backupCommands,
  },
  {
    group: 'When something is wrong:',
    names: ['doctor'],
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    group: 'Your shell:',
    names: ['completion'],
    load: async () => (await import('./completion.ts')).completionCommand,
  },
]

/** The files that these words can need. All files for the overview, for completion and for an unknown command. */
export function filesFor(words: readonly string[]): readonly CommandFile[] {
  const files = commandFiles.filter(({ names }) => names.some((name) => words.includes(name)))
  return files.length === 0 || words.includes('completion') ? commandFiles : files
}
