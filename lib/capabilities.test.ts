// Everything that the database stores and that grants a right to its bearer, and what ends that right. Tests with a database show each ending.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** The test file below `lib`, and the beginning of the name of the test that shows the ending. */
type Shown = readonly [file: string, name: string]
interface Capability {
  /** What ends it, in addition to its use and its own time. */
  ends: Record<string, Shown>
  /** What does not end it, and why that is acceptable. */
  outlives?: Record<string, string>
}

const accounts = 'domains/accounts/accounts.int.test.ts'
const links = 'domains/accounts/links.int.test.ts'
const users = 'domains/accounts/users.int.test.ts'
const factors = 'domains/accounts/second-factors/second-factors.int.test.ts'
const agents = 'domains/agents/agents.int.test.ts'
const approvals = 'domains/approvals/approvals.int.test.ts'
const lineage = 'domains/tokens/lineage.int.test.ts'
const prepared = 'domains/exports/prepared.int.test.ts'
const requester = 'domains/privacy-requests/requester.int.test.ts'
const requestLinks = 'domains/privacy-requests/filing/links.int.test.ts'
const form = 'domains/privacy-requests/form/form.int.test.ts'
const snapshots = 'domains/snapshots/snapshots.int.test.ts'

const capabilities: Record<string, Capability> = {
  Account: {
    ends: {
      'its password is reset on the server': [accounts, 'sets a one-time password, ends all sessions'],
      'its account is closed': [users, 'ends its sessions and prevents sign-in'],
    },
  },
  Session: {
    ends: {
      'the person signs out': [accounts, 'is rejected after sign-out'],
      'the password changes': [accounts, 'ends all other sessions and keeps the current one'],
      'a factor is added, or codes are replaced': [factors, 'a session that was open before a factor was added'],
      'an admin ends it': [users, 'POST /api/admin/users/{id}/end-sessions ends the sessions'],
      'the account is closed': [users, 'rejects the requests of its open sessions'],
    },
    outlives: { 'the role changes': 'The session has the rights of the new role from the next request.' },
  },
  AccountLink: {
    ends: {
      'the address or the password changes': [links, 'has an invalid link after the address changed'],
      'the account is closed or being erased': [links, 'is not sent to a closed account'],
      'a newer invitation is sent': [links, 'replaces the previous one when sent again'],
    },
    outlives: {
      'the admin who invited is demoted': 'The account exists, and admins and managers see and withdraw it.',
    },
  },
  AccountRecoveryCode: {
    ends: { 'the codes are replaced': [factors, 'recovery codes work once each'] },
  },
  Invite: {
    ends: {
      'the token is revoked, the agent is retired, or the admin loses the role or account': [
        agents,
        '%s: an invitation ends when its creator loses the right to invite',
      ],
    },
    outlives: { 'the session of the admin ends': 'The admin confirmed the password for it and remains an admin.' },
  },
  ApprovalProposal: {
    ends: {
      'the proposer loses the role before the decision': [
        approvals,
        'closes the proposal if the proposer is no longer',
      ],
      'the proposer loses the role after the decision': [approvals, 'is of no use to a proposer who lost the role'],
      'its target changes': [approvals, 'no longer applies after its target changed'],
      'an admin rejects or withdraws it': [approvals, 'rejected and withdrawn proposals allow nothing'],
    },
  },
  PreparedExport: {
    ends: {
      'it is deleted': [prepared, 'a download is aborted when the export is deleted'],
      'data in it is erased': [prepared, 'deletes a finished export that contains an erased unit'],
      'the account is erased': [prepared, 'erasing an account deletes its exports'],
    },
    outlives: { 'a session ends': 'Only a session of the same account downloads it.' },
  },
  PrivacyLink: {
    ends: {
      'the address changes': [requester, 'receives all further emails, and links sent to the former address'],
      'a newer link is sent': [requestLinks, 'expire after ten minutes, and a newer link'],
      'the request is closed': [requestLinks, 'return the same error when unknown'],
      'an admin saw it': [requestLinks, 'verifies no request, cancels none'],
      'its request is disconnected': [form, 'disconnects it until the owner confirms it'],
    },
  },
  UnconfirmedRequest: {
    ends: { 'a newer link is made': ['domains/privacy-requests/form/unconfirmed.int.test.ts', 'have one valid link'] },
  },
  SnapshotLink: {
    ends: {
      'its token is revoked, or its session ends': [snapshots, 'is downloaded with no link whose token was revoked'],
      'the snapshot is deleted': [snapshots, 'returns 404 to every other actor, and its links end with it'],
    },
  },
  Token: {
    ends: {
      'the token that created it is revoked': [lineage, 'revokes all tokens that were created with it'],
      'its owner loses the role admin or the account': [users, 'tokens with scope admin are revoked when their owner'],
      'the admin who created it is demoted': [users, 'tokens with scope admin that an admin created for other agents'],
      'the agent that created it for another is erased': [lineage, 'ends the tokens that it created for others'],
    },
    outlives: {
      'the owner changes the password': 'It is marked, and files and closes nothing until the owner rotates it.',
    },
  },
}
/** Hashes and times of other kinds, which grant nothing to a bearer. */
const grantNothing = [
  'CladeDelta',
  'IdempotencyRecord',
  'LegalHold',
  'LlmLogEntry',
  'Snapshot',
  'Suppression',
  'TelemetryKey',
]

it('every model with a hash or an end of its own is listed as a capability, or as none', () => {
  const folder = join(import.meta.dirname, '../prisma/schema')
  const models = readdirSync(folder)
    .filter((name) => name.endsWith('.prisma'))
    .flatMap((name) => [...readFileSync(join(folder, name), 'utf8').matchAll(/^model (\w+) \{([\s\S]*?)^\}/gm)])
    .filter(([, , fields = '']) => /^\s+(?:hash|\w+Hash|expiresAt)\s/m.test(fields))
    .map(([, name]) => name)
  expect([...Object.keys(capabilities), ...grantNothing].sort()).toEqual(models.sort())
})

it.each(Object.entries(capabilities))('every ending of %s has a test', (_, { ends, outlives = {} }) => {
  for (const [ending, [file, name]] of Object.entries(ends))
    expect([ending, readFileSync(join(import.meta.dirname, file), 'utf8').includes(`'${name}`)]).toEqual([ending, true])
  expect(Object.keys(outlives).filter((ending) => ending in ends)).toEqual([])
})
