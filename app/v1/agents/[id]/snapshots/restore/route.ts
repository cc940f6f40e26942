import { app, route } from '#lib/app.ts'

export const POST = route(app.snapshots.restoreAgent)
