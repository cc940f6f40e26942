import { lifeExporters } from '#lib/domains/agents/life/personal-data.ts'
import {
  documentRestorer,
  grimoireDaysOf,
  settingsRestorer,
  snapshotSettings,
} from '#lib/domains/agents/life/service.ts'
import { sharingAgent } from '#lib/domains/agents/life/status.ts'
import { cladeMembers } from '#lib/domains/agents/queries.ts'
import { cladesModule } from '#lib/domains/clades/module.ts'
import { grimoireModule } from '#lib/domains/grimoire/module.ts'
import { grimoireExporters } from '#lib/domains/grimoire/personal-data.ts'
import { entriesOf, entryRestorer, hasEntries, keyringOf } from '#lib/domains/grimoire/service.ts'
import { llmLogModule } from '#lib/domains/llm-log/module.ts'
import { isOurUpload } from '#lib/domains/projects/documents/uploads.ts'
import { snapshotParts } from '#lib/domains/snapshots/making.ts'
import { snapshotsModule } from '#lib/domains/snapshots/module.ts'
import { isSealedTo } from '#lib/domains/snapshots/service.ts'
import type { Foundation } from './foundation.ts'

export const composeSnapshots = ({
  db,
  erasedAgents,
  installation,
  isOfOthers,
  keys,
  origin,
  ownAgents,
  snapshotStorage,
  stores,
  strict,
}: Foundation) =>
  snapshotsModule({
    ...snapshotStorage,
    erasedAgents,
    isOfOthers,
    keyringOf,
    origin,
    restoreSettings: settingsRestorer({ hasEntries }),
    agents: { ...ownAgents, settingsOf: snapshotSettings },
    parts: snapshotParts([...lifeExporters(db, keys.documents), ...grimoireExporters(db, keys.grimoire)]),
    restorers: [
      documentRestorer({ strict, keys: keys.documents }),
      entryRestorer({ key: keys.grimoire, grimoireDaysOf }),
    ],
    areObjectsOurs: () => isOurUpload({ objects: stores.objects, installation }),
  })

export const composeGrimoire = ({ db, keys, ownAgents }: Foundation) =>
  grimoireModule({ db, key: keys.grimoire, agents: ownAgents, isSealedTo })

export const composeClades = ({ db, keys, namesOf, origin, ownAgents, recognise, regions, signer }: Foundation) =>
  cladesModule({
    db,
    key: keys.clades,
    namesOf,
    recognise,
    issuer: origin,
    // Self-hosted agents may also share here.
    agents: { ...ownAgents, writable: sharingAgent(regions) },
    members: cladeMembers,
    entriesOf: entriesOf({ key: keys.grimoire, grimoireDaysOf }),
    sign: signer.attest,
  })

export const composeLlmLog = ({ db, keys, ownAgents, recognise }: Foundation) =>
  llmLogModule({ db, key: keys.llmLog, recognise, agents: ownAgents })
