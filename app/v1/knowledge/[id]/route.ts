import { app, route } from '#lib/app.ts'

export const GET = route(app.knowledge.read)
export const DELETE = route(app.knowledge.erase)
