import { newId } from '#lib/kernel/ids.ts'
import type { TestApp } from './app.ts'
import { type Person, signedIn } from './people.ts'
import type { SideStore } from './side-store.ts'

export interface TestConversation {
  owner: Person
  project: string
  conversation: string
  messages: string[]
}
interface Stage {
  test: TestApp
  side: SideStore
}

/** A project with one conversation, and entries of the side store derived from each message. */
export async function startConversation(
  stage: Stage,
  { owner, messages = 2, entries = 3 }: { owner?: Person; messages?: number; entries?: number } = {},
): Promise<TestConversation> {
  const { test } = stage
  const person = owner ?? (await signedIn(test))
  const now = test.clock.now()
  const project = newId('prj')
  const conversation = newId('conv')
  const by = { createdBy: `user:${person.accountId}`, createdAt: now, updatedAt: now }
  await test.db.prisma.project.create({
    data: {
      id: project,
      organisationId: person.organisationId,
      name: 'A project',
      groupId: project,
      ...by,
      members: {
        create: { kind: 'account', memberId: person.accountId, role: 'owner', addedBy: by.createdBy, addedAt: now },
      },
    },
  })
  await test.db.prisma.conversation.create({
    data: { id: conversation, projectId: project, title: 'A conversation', threads: [conversation], ...by },
  })
  const made: TestConversation = { owner: person, project, conversation, messages: [] }
  for (let n = 0; n < messages; n++) await addMessage(stage, made, entries)
  return made
}

/** Adds a message. Returns its id. */
export async function addMessage(
  stage: Stage,
  made: TestConversation,
  entries: number,
  author = made.owner,
): Promise<string> {
  const id = newId('msg')
  const at = stage.test.clock.now()
  await stage.test.db.prisma.message.create({
    data: {
      id,
      projectId: made.project,
      conversationId: made.conversation,
      role: 'user',
      content: 'a sentence of theirs',
      authorKind: 'account',
      authorId: author.accountId,
      createdAt: at,
      updatedAt: at,
    },
  })
  for (let n = 0; n < entries; n++) checkpointEntryOf(stage.side, made, id, author)
  made.messages.push(id)
  return id
}

/** Writes an entry about a message without checking fences. */
export function checkpointEntryOf(
  side: SideStore,
  { project, conversation, owner }: TestConversation,
  message: string,
  author = owner,
  id = newId('entry'),
): string {
  side.entries.set(id, { message, conversation, project, author: author.accountId })
  return id
}
