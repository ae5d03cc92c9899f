-- Trees of tables, long and short strings, closures and coroutines: what a collector allocates and frees.
local maps, inside = io.open("/proc/self/maps"), io.open("inside", "a")
inside:write(maps:read("a"):find("libhakmem", 1, true) and "true\n" or "false\n")
maps:close()
inside:close()

local function grow(depth)
  if depth == 0 then return {} end
  return {grow(depth - 1), grow(depth - 1)}
end

local function count(tree)
  return tree[1] and 1 + count(tree[1]) + count(tree[2]) or 1
end

local kept, sum = grow(15), 0
for depth = 4, 14, 2 do
  for _ = 1, 1 << (16 - depth) do sum = sum + count(grow(depth)) end
end
print(sum, count(kept))

local parts = {}
for i = 1, 200000 do parts[#parts + 1] = "key" .. i .. ("x"):rep(i % 60) end
local text = table.concat(parts, ",")
print(#text, select(2, text:gsub("key%d+7x", "")), #text:upper():gsub("X+", "-"))
table.sort(parts, function(a, b) return #a < #b or (#a == #b and a < b) end)
print(parts[1], parts[100000], parts[#parts])

local function numbers(limit)
  return coroutine.wrap(function() for i = 1, limit do coroutine.yield(i) end end)
end
local total = 0
for i = 1, 3000 do for n in numbers(i % 20) do total = total + n end end
print(total)

local large = ""
for i = 1, 400 do large = large .. ("y"):rep(5000 + i) end
collectgarbage()
print(#large, collectgarbage("count") < 200000)
