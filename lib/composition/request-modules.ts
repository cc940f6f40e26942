import { customerNetworkOf, limitKeyOf } from '#lib/access/client-address.ts'
import { hasMailServer } from '#lib/config/locations.ts'
import { sealedPurposes } from '#lib/config/secret.ts'
import { countTry } from '#lib/domains/accounts/passwords.ts'
import { actorsOfRequest } from '#lib/domains/audit/repository.ts'
import { oldestRead } from '#lib/domains/audit/rules.ts'
import { holdsInForce } from '#lib/domains/holds/queries.ts'
import { formTriesPerMinute } from '#lib/domains/privacy-requests/form/rules.ts'
import { privacyRequestsModule } from '#lib/domains/privacy-requests/module.ts'
import { requestLinkTriesPerMinute } from '#lib/domains/privacy-requests/rules.ts'
import { answersForPart } from '#lib/domains/projects/erasing/parts.ts'
import {
  actedFor,
  ownsProjectOf,
  participantsByEmail,
  projectOfParticipant,
  rectifyParticipant,
  requestedChanges,
} from '#lib/domains/projects/participants/acting.ts'
import { restrictParticipants, unrestrictParticipants } from '#lib/domains/projects/participants/restricting.ts'
import { countRemainingProjects, countUnclaimedParticipations } from '#lib/domains/projects/queries.ts'
import { durationOf } from '#lib/domains/telemetry/events.ts'
import { reportCompletedErasures } from '#lib/domains/telemetry/service.ts'
import type { ExportsModule, ProjectsModule } from './content-modules.ts'
import type { Erasures } from './erasures.ts'
import type { Foundation } from './foundation.ts'
import type { PeopleModules } from './people-modules.ts'

export function composeRequests(
  foundation: Foundation,
  { agents, approvals, emails, people, settings }: PeopleModules,
  { engine, expectedRetention }: Erasures,
  exported: ExportsModule,
  { useCases: { projects } }: ProjectsModule,
) {
  const { db, env, keyFor, keys, ledger, limiter, mail, origin, pipeline, strict } = foundation
  return privacyRequestsModule({
    db,
    pipeline,
    mail,
    ledger,
    subjectKey: keys.subject,
    origin,
    strict,
    people: {
      ...people,
      mayFileFor: async (tx, filer, member) =>
        (await people.sameOrganisation(tx, filer, member)) || (await ownsProjectOf(tx, filer, member)),
    },
    agents: agents.useCases.agents,
    async sendToAdmin(accountId, write) {
      await emails.sendAtOnce({ accountId, kind: 'requests' }, (locale) => [write(locale)])
    },
    participants: {
      find: actedFor(db),
      byEmail: participantsByEmail,
      copyOf: projects.participantCopy,
      projectOf: projectOfParticipant,
      restrict: restrictParticipants,
      unrestrict: unrestrictParticipants,
      rectify: rectifyParticipant,
      refuseTakeover: requestedChanges,
    },
    erasures: engine.runs,
    answersForPart: (ctx, part) => db.transaction((tx) => answersForPart({ ...ctx, tx }, part)),
    copies: exported.useCases.exports,
    async holdsOn(tx, subject, now) {
      const { account, agents: held } = await holdsInForce.inForce(tx, subject, now)
      return [...new Set([...(account === null ? [] : [account]), ...held.values()])]
    },
    actorsOf: (id, now) => actorsOfRequest(db, { id, from: oldestRead(now) }),
    countTry: (address) =>
      countTry(limiter, [{ key: `privacy-link:${limitKeyOf(address)}`, limit: requestLinkTriesPerMinute }]),
    form: {
      isOn: settings.useCases.settings.isRequestFormOn,
      isForwardedByHand: !hasMailServer(env),
      key: keyFor(sealedPurposes.privacyForms),
      networkOf: (address) => (address.includes(':') ? customerNetworkOf(address) : limitKeyOf(address)),
      countTry: (address) =>
        countTry(limiter, [{ key: `request-form:${limitKeyOf(address)}`, limit: formTriesPerMinute }]),
    },
    contactKey: keyFor(sealedPurposes.privacyContacts),
    expectedRetention,
    requireApproval: approvals.useCases.approvals.requireApproval,
    countRemainingProjects: (subject) => countRemainingProjects(db, subject),
    countUnclaimedParticipations: (account) => countUnclaimedParticipations(db, account),
    graceTokens: env.KP_GRACE_TOKENS,
    graceSignIn: env.KP_GRACE_SIGN_IN,
    privacyEmail: env.KP_PRIVACY_EMAIL ?? null,
    requestsYears: env.KP_REQUESTS_YEARS,
  })
}
export type RequestModules = ReturnType<typeof composeRequests>

/**
 * Connects privacy requests and telemetry to changes of erasures and copies. Privacy requests begin erasures and copies, so that the
 * changes return as events.
 */
export function followChanges(
  { erasureChanges, exportChanges, telemetry }: Foundation,
  { engine }: Erasures,
  { useCases: { requests } }: RequestModules,
): void {
  erasureChanges.listen(requests.erasureChanged)
  exportChanges.listen(requests.copyChanged)
  if (!telemetry.isOn) return
  erasureChanges.listen(async (tx, change) => {
    if (change.state !== 'done') return
    const run = await engine.runs.run(change.runId, tx)
    await reportCompletedErasures(tx, {
      of: change.part?.kind ?? 'subject',
      steps: Object.keys(change.erased).length,
      duration: durationOf(change.now.getTime() - (run?.createdAt ?? change.now).getTime()),
    })
  })
}
