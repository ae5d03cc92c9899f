-- Every kind of value of the server, small and large encodings, overwritten and partly deleted again.
local state = 1
local function number(limit)
  state = (state * 16807) % 2147483647
  return state % limit
end
for i = 1, 40000 do
  local key = number(3000)
  redis.call('SET', 'text:' .. key, string.rep('x', number(400)))
  redis.call('HSET', 'hash:' .. key % 50, 'field' .. number(500), i)
  redis.call('ZADD', 'sorted:' .. key % 20, number(100000), 'member' .. number(900))
  redis.call('RPUSH', 'list:' .. key % 30, string.rep('y', number(90)))
  redis.call('SADD', 'set:' .. key % 25, number(700))
  if i % 3 == 0 then redis.call('DEL', 'text:' .. number(3000)) end
  if i % 50 == 0 then redis.call('LTRIM', 'list:' .. number(30), 5, -5) end
  if i % 40 == 0 then redis.call('APPEND', 'large', string.rep('z', 3000)) end
  if i % 20 == 0 then redis.call('PFADD', 'distinct', i, key) end
end
return redis.call('DBSIZE')
