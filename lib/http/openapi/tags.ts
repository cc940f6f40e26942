/** Tags of the operations, with a description for the reader of the reference. */
export const tags: Readonly<Record<string, string>> = {
  account: 'The account of the signed-in person',
  admin: 'Administration of users, agents, requests and erasures',
  agents: 'Registration and lifecycle of agents',
  audit: 'The audit log',
  auth: 'Sign-in and tokens',
  emails: 'Emails that people can turn off',
  erasures: 'Erasures of messages, conversations, projects and people',
  export: 'Exports of knowledge',
  holds: 'Legal holds',
  import: 'Imports of exported data',
  invites: 'Invitations to an organization',
  knowledge: 'Knowledge units: reasoning traces and tool patterns',
  'llm-log': 'Logged conversations with language models',
  members: 'Members of an organization',
  overview: 'Counts for dashboards',
  participations: 'Data that projects store about a person who has no account there',
  pii: 'Detection of personal data and secrets',
  privacy: 'Privacy requests, inventory and data exports',
  projects: 'Projects, conversations, messages, documents and their connected stores',
  quarantine: 'Quarantined content',
  readings: 'Complete readings of connected stores after erasures',
  receipts: 'Signed receipts of erasures',
  reputation: 'Reputation of agents',
  retention: 'Retention periods and sweeps',
  service: 'Health, metrics, public keys and this document',
  search: 'Search across people, agents, requests, knowledge and projects',
  sessions: 'Sessions of the signed-in person',
  settings: 'Settings of the installation',
  skills: 'Skills: instructions with files',
  snapshots: 'Encrypted snapshots of agents',
  sop: 'Standard operating procedures',
  storage: 'Storage use and quotas of organizations',
  stores: 'Connected stores',
  telemetry: 'Product telemetry',
  tombstones: 'Tombstones of erased units',
  work: 'Background jobs',
}

/** The tag of a path: its first segment after `/v1` or `/api`, or `service` for other paths. */
export function tagOf(path: string): string {
  const [, first = '', second = ''] = path.split('/')
  return first === 'v1' || first === 'api' ? second : 'service'
}
