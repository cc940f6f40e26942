import { app, route } from '#lib/app.ts'

export const GET = route(app.snapshots.readSnapshot)
export const DELETE = route(app.snapshots.deleteSnapshot)
