import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Permission } from '#lib/kernel/operation.ts'
import { permits } from './access.ts'

/** Operations that are no reads and that the role auditor may call, by the reason why they change no record of somebody else. */
const open: Record<string, readonly string[]> = {
  'They change the auditor’s own account, sign-in and sessions.': [
    'addAuthenticatorApp',
    'addPasskey',
    'changePassword',
    'chooseEmail',
    'confirmAuthenticatorApp',
    'confirmPassword',
    'removeSecondFactor',
    'renewRecoveryCodes',
    'revokeOtherSessions',
    'revokeSession',
    'setTelemetry',
    'startPasskeyRegistration',
    'unlinkIdentity',
  ],
  'They are rights of every data subject, about the auditor and agents that the auditor owned before.': [
    'acknowledgeCladeDeltas',
    'cancelPrivacyRequest',
    'claimParticipation',
    'createToken',
    'deleteExport',
    'expeditePrivacyRequest',
    'filePrivacyRequest',
    'giveConsent',
    'linkSnapshot',
    'prepareExport',
    'previewCladeShare',
    'retryOwnPrivacyRequest',
    'revokeByPrefix',
    'revokeToken',
    'rotateToken',
    'sendPrivacyRequestLink',
    'setAgentStatus',
    'setRestriction',
    'verifyPrivacyRequest',
    'withdrawAllConsent',
    'withdrawConsent',
  ],
  'They store searches and the time of reading.': ['deleteAuditSearch', 'readNotifications', 'saveAuditSearch'],
  'They refuse every role but those that may write, manage the organization or own the project.': [
    'cancelPrivacyRequestForParticipant',
    'claimAgent',
    'createOwnAgent',
    'exportSopAsSkill',
    'filePrivacyRequestForParticipant',
    'inviteMember',
    'liftParticipantRestriction',
    'reportUnit',
    'resendMemberInvitation',
    'withdrawMemberInvitation',
  ],
  'It computes an answer.': ['scanText'],
}

const Description = z.object({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ operationId: z.string(), 'x-permission': z.string() })),
  ),
})

it('an auditor may call no operation that is no read, except those that change nothing of others', () => {
  const file = join(import.meta.dirname, '../../openapi.json')
  const { paths } = Description.parse(JSON.parse(readFileSync(file, 'utf8')))
  const allowed = Object.values(paths)
    .flatMap((methods) => Object.entries(methods))
    .filter(([method]) => method !== 'get')
    .map(([, { operationId, 'x-permission': permission }]) => ({ operationId, permission: permission as Permission }))
    .filter(({ permission }) => permission !== 'public' && permits(['auditor'], permission))
    .map(({ operationId }) => operationId)
  expect(allowed.sort()).toEqual(Object.values(open).flat().sort())
})
