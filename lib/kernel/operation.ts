import { z } from 'zod'
import type { ProblemCode } from './problem.ts'

/**
 * `<domain>:<verb>`. lib/access/access.ts lists who may do what.
 * - public: everybody.
 * - read, write: a token with this scope, or a person.
 * - privacy: a token with this scope, or a person with a console account.
 * - self: an agent or a person, for data about themselves.
 * - person: a person with a console account.
 * - audit, admin: an account with this role, or a token with the scope admin.
 */
export type Verb = 'read' | 'write' | 'privacy' | 'self' | 'person' | 'audit' | 'admin'
export type Permission = 'public' | `${string}:${Verb}`

export type AuditAction = 'create' | 'read' | 'update' | 'delete' | 'export' | 'validate'
/** The audit entry that the pipeline writes on success, or why it writes none. */
type AuditRule = { action: AuditAction; resourceType: string } | { none: string }

/**
 * How an operation that deletes appears in the deletion log.
 * - counts: the pipeline writes a row with this count in the same transaction.
 * - by: an erasure run writes the row when it ends.
 * - none: why there is no row.
 */
type DeletionRule = { counts: string } | { by: 'erasure' } | { none: string }

/**
 * Operations with a common concurrency limit, of which one party may take only a part.
 * - erasures: the request carries out an erasure and waits for it. A party is an organization, or the network of unclaimed agents.
 * - registrations: anybody may register agents, without a rate limit. A party is a network.
 * - uploads: bodies that are read as they arrive. A party is an organization, or the network of unclaimed agents.
 * - contributions: every other operation that stores content. See {@link poolOf}.
 */
export type Pool = 'erasures' | 'registrations' | 'uploads' | 'contributions'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

export interface OperationShape {
  /** verbNoun; also the operationId of the OpenAPI document. */
  id: string
  method: Method
  /** OpenAPI style: `/v1/knowledge/{id}`. */
  path: `/${string}`
  summary: string
  description?: string
  permission: Permission
  audit: AuditRule
  /** Required for every operation whose audit action is `delete`. */
  deletes?: DeletionRule
  /** Monitoring may call it: with the token of KP_METRICS_TOKEN, or on the listener of KP_METRICS_LISTEN. */
  isOpenToMonitoring?: true
  /**
   * Requests per minute from one address, counted for all callers together, in addition to `limit`. `page`: counted together with pages
   * and other requests of this kind.
   */
  perAddress?: number | 'page'
  /** Long or costly work that may run only so often at once: above that it waits briefly, then 503. See {@link Pool}. */
  pool?: Pool
  /** Concurrent requests of one agent share a transaction, and a slot of the pool, unless they choose an id or have an Idempotency-Key. */
  isStoredTogether?: true
  /** A token suspended by a pending erasure of its agent may still call it, to view the pending erasure and to withdraw the request. */
  isOpenToSuspended?: true
  /**
   * It stores content that counts in the storage quota of the caller's organization: only its bytes, also one record, or also one record
   * for each element of the named list in the body.
   */
  stores?: 'bytes' | 'one record' | { each: string }
  /**
   * It stores pointers or a copy for its owner, no new content: an agent may also call it while its region is not available here
   * ({@link requireStorable}).
   */
  isOpenOutsideRegion?: true
  /** The person must have entered the password within the last ten minutes: see {@link requireRecentPassword}. */
  needsRecentPassword?: true
  /** Also open to a person who must have a second factor and has none: to add one, and for their rights over their data. */
  isOpenWithoutSecondFactor?: true
  /** A token of a dead (retired) agent may still call it. */
  isOpenToDead?: true
  /** Available after a database restore even before erasures were replayed, because it returns no content. */
  isOpenBeforeReplay?: true
  /** Which of the caller's two rate limits a request counts against; `exempt` counts against neither. Default: `read` for GET, else `write`. */
  limit: 'read' | 'write' | 'exempt'
  /** Default: 204 without an output, 201 for a POST that creates, else 200. */
  status: 200 | 201 | 202 | 204
  /** Other success statuses with the same body: 200 if it already existed, 202 if the work continues. */
  alsoStatus?: readonly (200 | 201 | 202)[]
  params?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: z.ZodType
  /** The maximum size of the body in bytes; `unit` and `batch` are the sizes of the caller's tier. */
  bodyLimit?: number | 'unit' | 'batch'
  /** Media types of a body that is read as a stream, instead of `body`. The operation validates its content piece by piece. */
  upload?: readonly string[]
  /**
   * The response contains text that agents or people contributed: units, skills, messages, documents, exports of them. Agents read it as
   * part of their prompt, so it has the header `KP-Content-Trust: untrusted`: it is data, not instructions.
   */
  contributed?: true
  output: z.ZodType
  /** The media types of the response, if it is not JSON. */
  produces?: readonly string[]
  /**
   * Top-level members of `data` that are never stored with an idempotency key: keys, which a repetition does not return and which are
   * therefore optional, and content, which would outlive its resource. A repetition reads content again (`complete` of the mutation).
   */
  secrets?: readonly string[]
  /** Problem codes of this operation, in addition to those of every operation. */
  refusals?: readonly ProblemCode[]
}

/** The pool of an operation: by default, what stores content is an upload or a contribution. */
export const poolOf = ({ pool, stores, upload }: OperationShape): Pool | undefined =>
  pool ?? (upload !== undefined ? 'uploads' : stores === undefined ? undefined : 'contributions')

type Derived = 'limit' | 'status' | 'audit'
/** An operation as its contract declares it: limit, status and audit action follow from the method, unless they are given. */
type DeclaredOperation = Omit<OperationShape, Derived> &
  Partial<Pick<OperationShape, 'limit' | 'status'>> & { audit: AuditRule | { resourceType: string } }

const auditActions: Readonly<Record<Method, AuditAction>> = {
  get: 'read',
  post: 'create',
  put: 'update',
  patch: 'update',
  delete: 'delete',
}

function derived({ method, limit, status, audit, output }: DeclaredOperation): Pick<OperationShape, Derived> {
  const rule: AuditRule = 'none' in audit ? audit : { action: auditActions[method], ...audit }
  const isCreation = method === 'post' && 'action' in rule && rule.action === 'create'
  return {
    limit: limit ?? (method === 'get' ? 'read' : 'write'),
    status: status ?? (output.type === 'undefined' ? 204 : isCreation ? 201 : 200),
    audit: rule,
  }
}

/** Declares an operation once, for the pipeline, the API server, the route handlers, OpenAPI, the client and `kp`. */
export const operation = <const O extends DeclaredOperation>(
  declared: O,
): Omit<O, Derived> & Pick<OperationShape, Derived> => ({ ...declared, ...derived(declared) })

type Part<O, K extends string> = O extends Record<K, infer S extends z.ZodType> ? z.output<S> : undefined
export interface Upload {
  /** One of the operation's `upload` media types, without parameters. */
  mediaType: string
  /** The `charset` of the media type, as the client states it. */
  charset?: string | undefined
  bytes: AsyncIterable<Uint8Array>
}
export interface Input<O> {
  params: Part<O, 'params'>
  query: Part<O, 'query'>
  headers: Part<O, 'headers'>
  body: Part<O, 'body'>
  upload: O extends { upload: readonly string[] } ? Upload : undefined
}
/** What clients and pages receive. */
export type Output<O extends OperationShape> = z.output<O['output']>
/** What a use case returns, before the pipeline encodes it as {@link Output}: its times are Dates. */
export type Returned<O extends OperationShape> = z.input<O['output']>

/** What the HTTP layer passes to the pipeline: unparsed strings, and the body as parsed JSON. */
export interface RawInput {
  params: Record<string, string>
  query: Record<string, string>
  headers: Record<string, string>
  body: unknown
  upload?: Upload
}

const named = new Map<string, z.ZodObject>()

/** Names fields that several outputs have in common. OpenAPI describes them once, as a schema with this name. Returns the fields. */
export function sharedFields<T extends z.ZodRawShape>(name: string, fields: T): T {
  named.set(name, z.object(fields))
  return fields
}
/** All named fields, by name. */
export const namedFields = (): ReadonlyMap<string, z.ZodObject> => named

/** A time in an output: use cases return a Date, and clients receive ISO 8601 text in UTC. */
export const time = (meta?: { description: string }) =>
  z.codec(z.union([z.date(), z.iso.datetime()]), meta ? z.iso.datetime().meta(meta) : z.iso.datetime(), {
    decode: (at) => (typeof at === 'string' ? at : at.toISOString()),
    encode: (at) => at,
  })

/** A time in a stored payload: code reads and writes a Date, and the payload contains ISO 8601 text in UTC. */
export const storedTime = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (at) => at.toISOString(),
})
