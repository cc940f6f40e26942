export type { CallOptions, ClientOptions, Input, Output, PathOf, UploadBody } from './client.ts'
export { KnowledgePulse } from './client.ts'
export type { components, operations, paths } from './generated/openapi.ts'
export * from './problems.ts'
