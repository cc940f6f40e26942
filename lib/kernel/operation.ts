import type { z } from 'zod'
import type { ProblemCode } from './problem.ts'

/**
 * `<domain>:<verb>`; what a verb takes is one table in lib/access/permissions.ts. `public` asks for nothing.
 * read, write: a token's scopes. self: whoever it is, about themself. person: a console account. audit, admin: those roles.
 */
export type Verb = 'read' | 'write' | 'self' | 'person' | 'audit' | 'admin'
export type Permission = 'public' | `${string}:${Verb}`

export type AuditAction = 'create' | 'read' | 'update' | 'delete' | 'export' | 'validate'
/** What the gate writes on success; or why it writes nothing. */
export type AuditRule = { action: AuditAction; resourceType: string } | { none: string }

/**
 * What the deletion log says of an operation that deletes. counts: the gate writes a row with this count, in the same transaction. by: an
 * erasure writes the row when it ends. none: why there is none.
 */
export type DeletionRule = { counts: string } | { by: 'erasure' } | { none: string }

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
  /** Of every operation whose audit action is `delete`. */
  deletes?: DeletionRule
  /** Monitoring may do it: by the token of KP_METRICS_TOKEN, or on the listener of KP_METRICS_LISTEN. */
  isOpenToMonitoring?: true
  /** Requests that one address may send in a minute, whoever it is; beside the windows of `limit`. */
  perAddress?: number
  /**
   * A token that stands still, because an erasure of its agent waits, may do it all the same: it looks at what waits, and takes back what
   * its agent asked for.
   */
  isOpenToSuspended?: true
  /**
   * It stores content, which counts in the storage quota of the caller's organization: its size alone, one record as well, or one for each
   * element of a list in the body.
   */
  stores?: 'bytes' | 'one record' | { each: string }
  /** A person has entered the password within the last ten minutes: see {@link requireRecentPassword}. */
  needsRecentPassword?: true
  /** A token of an agent that is dead may do it all the same. */
  isOpenToDead?: true
  /** Served although the database was restored and the erasures since then were not replayed: it returns no content. */
  isOpenBeforeReplay?: true
  /** Which of the caller's two windows a request counts in. `exempt` counts in none. */
  limit: 'read' | 'write' | 'exempt'
  status: 200 | 201 | 202 | 204
  /** Other statuses of success, with the same body: 200 where it was there already, 202 where it goes on. */
  alsoStatus?: readonly (200 | 201 | 202)[]
  params?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: z.ZodType
  /** The body's limit in bytes; `unit`, `batch` are the sizes that the caller's tier allows. */
  bodyLimit?: number | 'unit' | 'batch'
  /** Media types of a body that is read while it arrives, in place of `body`: what is in it is the operation's to check, piece by piece. */
  upload?: readonly string[]
  output: z.ZodType
  /** The media types of the answer, where it is not JSON. */
  produces?: readonly string[]
  /**
   * Top-level members of `data` that no idempotency record may keep: keys, which a repetition does not return and which are optional for
   * that reason, and content, which would outlive its resource here. A repetition reads content anew (`complete` of the mutation).
   */
  secrets?: readonly string[]
  /** Refusals of its own, beside those that every operation has. */
  refusals?: readonly ProblemCode[]
}

/** Declares an operation once: it feeds the gate, both doors, OpenAPI, the client and `kp`. */
export const operation = <const O extends OperationShape>(shape: O): O => shape

type Part<O, K extends string> = O extends Record<K, infer S extends z.ZodType> ? z.output<S> : undefined
export interface Upload {
  /** One of the operation's, without parameters. */
  mediaType: string
  bytes: AsyncIterable<Uint8Array>
}
export interface Input<O> {
  params: Part<O, 'params'>
  query: Part<O, 'query'>
  headers: Part<O, 'headers'>
  body: Part<O, 'body'>
  upload: O extends { upload: readonly string[] } ? Upload : undefined
}
export type Output<O extends OperationShape> = z.input<O['output']>

/** What a door hands to the gate: strings as they came, the body as parsed JSON. */
export interface RawInput {
  params: Record<string, string>
  query: Record<string, string>
  headers: Record<string, string>
  body: unknown
  upload?: Upload
}
