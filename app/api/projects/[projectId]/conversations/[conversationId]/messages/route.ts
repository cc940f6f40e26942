import { app, route } from '#lib/app.ts'

export const GET = route(app.projects.messages)
export const POST = route(app.projects.createMessage)
