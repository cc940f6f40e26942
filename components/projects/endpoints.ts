import type { Endpoint } from '#lib/client/request.ts'
import type { AccountView } from '#lib/domains/accounts/contract.ts'
import type { closeProject, reopenProject } from '#lib/domains/projects/closing/contract.ts'
import type {
  addProjectMember,
  createProject,
  editProject,
  listProjectMembers,
  listProjects,
  removeProjectMember,
} from '#lib/domains/projects/contract.ts'
import type {
  createConversation,
  createMessage,
  listConversations,
  listMessages,
  readMessage,
} from '#lib/domains/projects/conversations/contract.ts'
import type { listDocuments } from '#lib/domains/projects/documents/contract.ts'
import type {
  eraseConversation,
  eraseDocument,
  eraseMessage,
  PartPlan,
} from '#lib/domains/projects/erasing/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const at = '/api/projects'
const one = `${at}/{projectId}` as const
const conversation = `${one}/conversations/{conversationId}` as const

export const projectsAt: Endpoint<typeof listProjects> = { method: 'get', path: at }
export const createProjectAt: Endpoint<typeof createProject> = { method: 'post', path: at }
export const editProjectAt: Endpoint<typeof editProject> = { method: 'patch', path: one }
export const closeAt: Endpoint<typeof closeProject> = { method: 'post', path: `${one}/close` }
export const reopenAt: Endpoint<typeof reopenProject> = { method: 'post', path: `${one}/reopen` }
export const projectMembersAt: Endpoint<typeof listProjectMembers> = { method: 'get', path: `${one}/members` }
export const addMemberAt: Endpoint<typeof addProjectMember> = { method: 'post', path: `${one}/members` }
export const removeMemberAt: Endpoint<typeof removeProjectMember> = {
  method: 'delete',
  path: `${one}/members/{kind}/{memberId}`,
}
export const conversationsAt: Endpoint<typeof listConversations> = { method: 'get', path: `${one}/conversations` }
export const beginAt: Endpoint<typeof createConversation> = { method: 'post', path: `${one}/conversations` }
export const messagesAt: Endpoint<typeof listMessages> = { method: 'get', path: `${conversation}/messages` }
export const writeMessageAt: Endpoint<typeof createMessage> = { method: 'post', path: `${conversation}/messages` }
export const messageEndpoint: Endpoint<typeof readMessage> = {
  method: 'get',
  path: `${conversation}/messages/{messageId}`,
}
export const projectDocumentsAt: Endpoint<typeof listDocuments> = { method: 'get', path: `${one}/documents` }
export const eraseMessageAt: Endpoint<typeof eraseMessage> = {
  method: 'delete',
  path: `${conversation}/messages/{messageId}`,
}
export const eraseConversationAt: Endpoint<typeof eraseConversation> = { method: 'delete', path: conversation }
export const eraseDocumentAt: Endpoint<typeof eraseDocument> = {
  method: 'delete',
  path: `${one}/documents/{documentId}`,
}

/** Path prefix of every cached answer about projects. */
export const projectPaths = [at]
/** Rows per page of a list. */
export const projectRowsPerPage = 50

export type ProjectPage = Output<typeof listProjects>
export type Project = ProjectPage['data'][number]
export type ConversationPage = Output<typeof listConversations>
export type Conversation = ConversationPage['data'][number]
export type MessagePage = Output<typeof listMessages>
export type ProjectMessage = MessagePage['data'][number]
export type ProjectDocumentPage = Output<typeof listDocuments>
export type ProjectDocument = ProjectDocumentPage['data'][number]
export type ProjectMemberPage = Output<typeof listProjectMembers>
export type Member = ProjectMemberPage['data'][number]
export type PartErasurePlan = PartPlan
export type PlanDecision = PartErasurePlan['verdicts'][number]

export const tabs = ['conversations', 'documents', 'participants', 'members', 'settings'] as const
export type Tab = (typeof tabs)[number]
export const tabNamed = (text: string | undefined): Tab | undefined => tabs.find((tab) => tab === text)

/** The project lists. `all`: every project of the organization, or of the installation for admins. */
export const projectListViews = ['mine', 'closing', 'closed', 'all'] as const
export type ProjectListView = (typeof projectListViews)[number]
export const viewNamed = (text: string | undefined): ProjectListView =>
  projectListViews.find((view) => view === text) ?? 'mine'
/** The query of a view. */
export const viewQuery = (view: ProjectListView): { status?: 'closing' | 'closed'; all?: 'true' } => {
  if (view === 'all') return { all: 'true' }
  return view === 'mine' ? {} : { status: view }
}

const coded = encodeURIComponent
export const projectPage = (id: string, tab?: Tab): string =>
  `/projects/${coded(id)}${tab && tab !== 'conversations' ? `?tab=${tab}` : ''}`
export const conversationPage = (projectId: string, id: string, messageId?: string): string =>
  `/projects/${coded(projectId)}/conversations/${coded(id)}${messageId === undefined ? '' : `?message=${coded(messageId)}`}`
export const erasurePage = (projectId: string, auditId: string): string =>
  `/projects/${coded(projectId)}/erasures/${coded(auditId)}`
export const projectDocumentFile = (projectId: string, id: string): string =>
  `/api/projects/${coded(projectId)}/documents/${coded(id)}/content`
export const attachmentFile = (
  projectId: string,
  { conversation_id, id }: ProjectMessage,
  attachmentId: string,
): string =>
  `/api/projects/${coded(projectId)}/conversations/${coded(conversation_id)}/messages/${coded(id)}/attachments/${coded(attachmentId)}`
export const exportFile = (projectId: string): string => `/api/projects/${coded(projectId)}/export?format=zip`

/** The message, conversation or document that a plan erases. */
export interface PlannedPart {
  kind: 'message' | 'conversation' | 'document'
  id: string
  /** The conversation of a message; absent for other kinds. */
  conversation?: string
}
/** The page that plans an erasure before anything is erased. */
export function erasePage(projectId: string, { kind, id, conversation: within }: PlannedPart): string {
  const query = new URLSearchParams({ ...(within !== undefined && { conversation: within }), [kind]: id })
  return `/projects/${coded(projectId)}/erase?${query}`
}
/** Parses an address of {@link erasePage}; undefined if it names nothing. */
export function targetIn(query: Record<string, string | string[] | undefined>): PlannedPart | undefined {
  const text = (name: string) => {
    const value = query[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const [message, within, document] = [text('message'), text('conversation'), text('document')]
  if (document !== undefined) return { kind: 'document', id: document }
  if (within === undefined) return undefined
  return message === undefined
    ? { kind: 'conversation', id: within }
    : { kind: 'message', id: message, conversation: within }
}

/** Whether the reader is a member. Managers and admins see the project but cannot read its contents. */
export const isMember = ({ role }: Pick<Project, 'role'>): boolean => role === 'owner' || role === 'member'
/** Who may close and reopen the project. */
export const mayCloseAsMember = ({ role }: Pick<Project, 'role'>): boolean => role !== 'member'
/** Whether the reader files requests for participants. A member of a project belongs to its organization, so a manager manages it. */
export const mayActForParticipants = ({ role }: Pick<Project, 'role'>, reader: Pick<AccountView, 'role'>): boolean =>
  role !== 'member' || reader.role === 'manager' || reader.role === 'admin'
/** Whether the reader confirms addresses that agents reported: owners and admins, not managers. Nobody confirms their own address. */
export const mayConfirmAddresses = ({ role }: Pick<Project, 'role'>, reader: Pick<AccountView, 'role'>): boolean =>
  role === 'owner' || reader.role === 'admin'
