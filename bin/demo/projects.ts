import { closeProject } from '#lib/domains/projects/closing/contract.ts'
import { addProjectMember, createProject } from '#lib/domains/projects/contract.ts'
import {
  attachFile,
  createConversation,
  createMessage,
  editMessage,
} from '#lib/domains/projects/conversations/contract.ts'
import { addDocument } from '#lib/domains/projects/documents/contract.ts'
import { reportProvenance } from '#lib/domains/projects/provenance/contract.ts'
import type { AgentOfDemo, Happening, World } from './world.ts'

type Speaker = 'ben' | 'cleo' | 'dana' | 'agent'
interface Talk {
  title: string
  said: readonly (readonly [Speaker, string])[]
}
const move: readonly Talk[] = [
  {
    title: 'Which shelves go first',
    said: [
      ['ben', 'The new hall opens in three weeks. Which shelves do we empty first?'],
      [
        'agent',
        'Aisles 4 and 7 turn over slowest: 3 percent of the picks in eight weeks. Emptying them first disturbs least.',
      ],
      ['cleo', 'Aisle 7 has the cold goods. They need the second refrigerator before anything moves.'],
      ['agent', 'Then 4 first, 7 once the refrigerator has run for a day. I wrote the order down as an artifact.'],
      ['dana', 'Agreed. I book the van for aisle 4 on Thursday.'],
    ],
  },
  {
    title: 'What the landlord wants to know',
    said: [
      ['dana', 'The landlord asks for the weight of a full shelf, and who answers for the sprinklers.'],
      ['agent', 'A full shelf is 840 kg by the supplier’s table. I found nothing on the sprinklers.'],
      ['ben', 'I answer for them. Write that the yearly check is due in May.'],
    ],
  },
]
const catalogue: readonly Talk[] = [
  {
    title: 'Texts for the spring catalogue',
    said: [
      ['cleo', 'Forty descriptions are missing. Two sentences each, no superlatives.'],
      ['agent', 'Forty drafts are in the artifact. Six products have no measurements; they are marked.'],
      ['cleo', 'Printed. Thank you all. This can be closed.'],
    ],
  },
]
const order = `# Order of the move

1. Aisle 4: 62 boxes, one tour.
2. Second refrigerator: one day of running before anything goes in.
3. Aisle 7: cold goods, before nine in the morning.
`
const address = { ben: 'ben@example.org', cleo: 'cleo@example.org', dana: 'dana@example.org' } as const
const helper = 'build-helper'

const by = async (
  world: World,
  who: Speaker,
): Promise<Pick<AgentOfDemo, 'address' | 'token'> | { cookie: string; address: string }> =>
  who === 'agent' ? world.agent(helper) : world.as(address[who])

/** Creates a project with members, conversations and derived data. Returns its id. */
async function lived(world: World, name: string, owner: 'ben' | 'cleo', talks: readonly Talk[]): Promise<string> {
  const first = await world.as(address[owner])
  const { data: project } = await world.ask(first, createProject, {
    body: { name, entity_kinds: { Shelf: 'business', Supplier: 'business', Colleague: 'person' } },
  })
  const params = { projectId: project.id }
  for (const one of ['ben', 'cleo', 'dana'] as const)
    if (one !== owner)
      await world.ask(first, addProjectMember, { params, body: { kind: 'account', email: address[one] } })
  await world.ask(first, addProjectMember, { params, body: { kind: 'agent', member_id: helper } })
  for (const { title, said } of talks) {
    const { data: talk } = await world.ask(first, createConversation, { params, body: { title } })
    const inTalk = { ...params, conversationId: talk.id }
    for (const [who, content] of said) {
      const { data: message } = await world.ask(await by(world, who), createMessage, {
        params: inTalk,
        body: { role: who === 'agent' ? 'assistant' : 'user', content },
      })
      await world.ask(world.agent(helper), reportProvenance, {
        params,
        body: {
          entries: [
            { source_id: message.id, store: 'outside', ref: `notes of ${talk.id}`, place: 'notes.example.org' },
          ],
        },
      })
      if (who === 'dana' && content.startsWith('Agreed')) {
        const ofMessage = { ...inTalk, messageId: message.id }
        const dana = await by(world, 'dana')
        await world.ask(dana, editMessage, { params: ofMessage, body: { content: `${content} Eight in the morning.` } })
        await world.ask(dana, attachFile, {
          params: ofMessage,
          query: { name: 'van.txt' },
          upload: { mediaType: 'text/plain', bytes: 'One van, 3.5 t, Thursday 08:00.\n' },
        })
      }
    }
  }
  await world.ask(world.agent(helper), addDocument, {
    params,
    query: { name: 'order.md', kind: 'artifact' },
    upload: { mediaType: 'text/markdown', bytes: order },
  })
  return project.id
}

/** Two projects: an active one and one that is being closed. */
export function ongoingProjects(): Happening[] {
  let done: string | undefined
  return [
    { daysAgo: 34, run: (world) => lived(world, 'Move to the new hall', 'ben', move) },
    {
      daysAgo: 30,
      async run(world) {
        done = await lived(world, 'Spring catalogue', 'cleo', catalogue)
      },
    },
    {
      daysAgo: 24.2,
      async run(world) {
        if (done === undefined) throw new Error('the catalogue has no project yet')
        await world.ask(await world.as('mara@example.org'), closeProject, { params: { projectId: done }, body: {} })
      },
    },
  ]
}
