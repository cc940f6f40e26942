import { statement } from '#lib/stores/postgres/statement.ts'

type SavepointAction = 'SAVEPOINT' | 'RELEASE SAVEPOINT' | 'ROLLBACK TO SAVEPOINT'
/** The savepoint of one imported line. */
export const changeLineSavepoint = statement('projects.import-line-savepoint', {
  takes: {},
  returns: 'count',
  variants: ['SAVEPOINT', 'RELEASE SAVEPOINT', 'ROLLBACK TO SAVEPOINT'],
  sql: (action: SavepointAction) => `${action} import_line`,
})
