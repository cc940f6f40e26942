export type DatabaseFaultCode =
  | 'ALREADY_RUNNING'
  | 'DISK_FULL'
  | 'NO_PACKAGE'
  | 'OTHER_VERSION'
  | 'NO_SERVER_USER'
  | 'NOT_WRITABLE'
  | 'START_FAILED'
  | 'UNREACHABLE'
  | 'ACCESS_DENIED'
  | 'NO_DATABASE'
  | 'NO_TIME_LIMITS'
  | 'OTHER_DATABASE'
  | 'OTHER_USER'
  | 'NO_ROLE'
  | 'NOT_PREPARED'
  | 'FOREIGN_DATABASE'
  | 'SCHEMA_NEWER'
  | 'MIGRATION_CHANGED'
  | 'MIGRATION_FAILED'
  | 'SECRET_REPLACED'
  | 'SECRET_FOREIGN'
  | 'LEDGER_AWAY'
  | 'LEDGER_OLDER'
  | 'LEDGER_ALTERED'
  | 'IN_USE'

/** Why the database cannot be used. The message tells the operator in one line what to do. */
export class DatabaseFault extends Error {
  readonly code: DatabaseFaultCode

  constructor(code: DatabaseFaultCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DatabaseFault'
    this.code = code
  }
}

/** Whether the database failed with this SQLSTATE, however deeply Prisma wrapped the error. */
export const hasSqlState = (error: unknown, state: string): boolean =>
  error instanceof Error &&
  (('code' in error && error.code === state) || error.message.includes(state) || hasSqlState(error.cause, state))
