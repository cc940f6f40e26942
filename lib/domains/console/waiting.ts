import { read } from '#lib/kernel/use-case.ts'
import { readWaiting } from './contract.ts'
import type { ConsolePorts } from './ports.ts'
import { daysAfter, expiringWithin } from './rules.ts'

type WaitingPorts = Pick<
  ConsolePorts,
  'requests' | 'erasures' | 'knowledge' | 'holds' | 'mail' | 'tokens' | 'approvals'
>

/** Counts the work that waits for an admin. A count that the reader may not see is null. */
export const waitingForAdmins = (ports: WaitingPorts) =>
  read(readWaiting, async ({ actor, now }) => {
    const mayAdmin = (domain: string) => actor.can(`${domain}:admin`)
    const [requests, open, quarantined, ending, undelivered, files, recent, proposals] = await Promise.all([
      mayAdmin('privacy') ? ports.requests.waiting(now) : null,
      actor.can('erasures:audit') ? ports.erasures.open() : null,
      mayAdmin('quarantine') ? ports.knowledge.quarantined() : null,
      mayAdmin('holds') ? ports.holds.ending({ now, until: daysAfter(now, expiringWithin.holds) }) : null,
      mayAdmin('outbox') ? ports.mail.undelivered() : null,
      mayAdmin('outbox') ? ports.mail.files() : null,
      mayAdmin('tokens') ? ports.tokens.revokedByLimits(daysAfter(now, -expiringWithin.revocations)) : null,
      mayAdmin('approvals') && actor.accountId !== undefined ? ports.approvals.waitingFor(actor.accountId, now) : null,
    ])
    return {
      resourceId: 'waiting',
      body: {
        data: {
          as_of: now.toISOString(),
          requests,
          erasures: open && {
            running: open.planning + open.erasing + open.verifying,
            stuck: open.stuck,
            failed: open.failed,
          },
          quarantined,
          holds: ending === null ? null : { ending },
          outbox: undelivered === null ? null : { undelivered, files },
          approvals: proposals === null ? null : { waiting: proposals },
          revocations: recent === null ? null : { recent },
        },
      },
    }
  })
