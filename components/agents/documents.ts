import type { z } from 'zod'
import type { Endpoint } from '#lib/client/request.ts'
import type {
  AgentDocument,
  addAgentDocument,
  deleteAgentDocument,
  editAgentDocument,
  listAgentDocuments,
  readAgentDocument,
} from '#lib/domains/agents/life/contract.ts'
import { documentBytes } from '#lib/domains/agents/life/rules.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { agentPage } from './agents.ts'

const all = '/v1/agents/{id}/documents'
const one = `${all}/{documentId}` as const
export const agentDocumentsAt: Endpoint<typeof listAgentDocuments> = { method: 'get', path: all }
export const addDocumentAt: Endpoint<typeof addAgentDocument> = { method: 'post', path: all }
export const documentAt: Endpoint<typeof readAgentDocument> = { method: 'get', path: one }
export const editDocumentAt: Endpoint<typeof editAgentDocument> = { method: 'put', path: one }
export const deleteDocumentAt: Endpoint<typeof deleteAgentDocument> = { method: 'delete', path: one }

export const documentsTouched = [all]
/** Rows per page of a list. */
export const documentsAtOnce = 50

export type AgentDocumentPage = Output<typeof listAgentDocuments>
export type ListedDocument = AgentDocumentPage['data'][number]
export type WholeDocument = z.output<typeof AgentDocument>
export type ShownDocumentKind = ListedDocument['kind']

/** The document in an answer; undefined if the answer is a file. */
export const documentIn = (answer: Output<typeof readAgentDocument> | undefined): WholeDocument | undefined =>
  typeof answer === 'object' ? answer.data : undefined

export const documentsPage = (agentId: string, kind?: ShownDocumentKind): string =>
  `${agentPage(agentId)}/documents${kind === undefined ? '' : `?kind=${kind}`}`
export const documentPage = (agentId: string, id: string): string => `${agentPage(agentId)}/documents/${id}`
export const agentDocumentFile = (agentId: string, id: string): string =>
  `/v1/agents/${encodeURIComponent(agentId)}/documents/${id}?format=md`

/** Whether a text exceeds the size limit, in UTF-8 bytes. */
export const isTooLong = (text: string): boolean => new TextEncoder().encode(text).length > documentBytes

/** The unsaved edit of an existing document. */
export interface DocumentDraft extends Record<string, unknown> {
  /** The stored revision when the edit began; 0 if nothing was typed yet. */
  revision: number
  title: string
  body: string
}
export const unwritten: DocumentDraft = { revision: 0, title: '', body: '' }
export const documentDraftKey = (id: string): string => `agents.document.${id}`
